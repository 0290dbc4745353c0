import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { lenient, readingHints } from "../../../src/shared/contract/lenient.ts";

const Time = z.codec(z.iso.datetime(), z.int(), {
  decode: (text) => Date.parse(text),
  encode: (at) => new Date(at).toISOString(),
});
const Fish = z.object({
  id: z.string().min(1).max(5).register(readingHints, { isWhole: true }),
  name: z.string().max(5).describe("Its name."),
  kind: z.enum(["cod", "eel"]).nullable(),
  weight: z.int().min(0).optional(),
  caughtAt: Time.nullable(),
  isFresh: z.boolean().register(readingHints, { ifUnreadable: true }),
  owner: z
    .string()
    .max(20)
    .register(readingHints, { ifUnreadable: ({ name }: { name: string }) => `owner of ${name}` }),
  tags: z.array(z.string().max(3)).max(2),
  scales: z.array(z.int()).nullable(),
});
const FISH: z.input<typeof Fish> = {
  id: "f-1",
  name: "Otto",
  kind: "eel",
  weight: 3,
  caughtAt: "2026-11-22T03:00:00Z",
  isFresh: false,
  owner: "Ana",
  tags: ["new"],
  scales: [1],
};
const read = (told: object) => lenient(Fish).safeParse({ ...FISH, ...told }).data;

describe("what a service sends is read", () => {
  it("as the schema says, where it is what the schema wants", () => {
    expect(read({})).toEqual(Fish.parse(FISH));
    expect(read({})?.caughtAt).toBe(Date.UTC(2026, 10, 22, 3));
  });

  it.each<[what: string, told: object, read: object]>([
    ["a long text is cut", { name: "Ottokar" }, { name: "Otto…" }],
    ["half a character is replaced", { name: "x\ud83d" }, { name: "x\ufffd" }],
    ["what may be null is null", { kind: "whale", caughtAt: "at noon" }, { kind: null, caughtAt: null }],
    ["what may be null is null if it is absent", { kind: undefined }, { kind: null }],
    ["what may be absent is absent", { weight: -1 }, { weight: undefined }],
    ["what must be there is what the hint says", { isFresh: "perhaps" }, { isFresh: true }],
    ["also if it is absent", { isFresh: undefined }, { isFresh: true }],
    ["a hint may look at other fields", { owner: 7 }, { owner: "owner of Otto" }],
    ["items are left out", { tags: ["a", 7, null, "long one"] }, { tags: ["a", "lo…"] }],
    ["a list's newest items stay", { tags: ["a", "b", "c"] }, { tags: ["b", "c"] }],
    ["what isn't a list is an empty one", { tags: "many" }, { tags: [] }],
    ["and null where it may be", { scales: "many" }, { scales: null }],
    ["other fields are left out", { color: "green" }, {}],
  ])("where it isn't: %s", (_, told, expected) => {
    expect(read(told)).toEqual({ ...Fish.parse(FISH), ...expected });
  });

  it.each([[{ id: "" }], [{ id: "longer" }], [{ id: undefined }], [{ name: 7 }]])(
    "not at all, where a part is missing that nothing stands in for: %j",
    (told) => {
      expect(read(told)).toBeUndefined();
      expect(lenient(Fish.nullable()).parse({ ...FISH, ...told })).toBeNull();
    },
  );

  it("with the fields that nobody knows, where they are to stay", () => {
    const told = { ...FISH, name: "Ottokar", color: "green" };
    expect(lenient(Fish.loose()).parse(told)).toEqual({ ...Fish.parse(FISH), name: "Otto…", color: "green" });
  });

  it("without a list that means nothing once it is cut", () => {
    const Order = z.array(z.int().nullable()).max(2).register(readingHints, { isWhole: true });
    const Race = z.object({ order: Order.nullable() });
    expect(lenient(Race).parse({ order: [1, "second"] })).toEqual({ order: [1, null] });
    expect(lenient(Race).parse({ order: [1, 2, 3] })).toEqual({ order: null });
  });

  it("whatever it is", () => {
    const Any = z.object({ fish: Fish.nullable(), all: z.array(Fish).max(3).nullable() });
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (fish, all) => {
        expect(lenient(Any).safeParse({ fish, all }).success).toBe(true);
      }),
    );
  });
});
