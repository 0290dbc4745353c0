import fc from "fast-check";
import { expect, it } from "vitest";
import { claimsInChange } from "../../../src/service/runner/turn/claims/claims-in-change.ts";
import { quoteFinder } from "../../../src/service/runner/turn/claims/find-quotes.ts";
import { linkedPath, sourcePlace } from "../../../src/service/runner/turn/claims/source-place.ts";
import { type CheckedClaim, joinedClaims } from "../../../src/service/runner/publish/checked-claim.ts";
import { TurnNote, turnsBefore } from "../../../src/service/runner/publish/turn-note.ts";

const word = fc.constantFrom(
  "the",
  "port",
  "4000",
  "is",
  "--json",
  "`a`",
  "größe",
  "ポート",
  "x=1;",
  "(b)",
  "*",
);
const words = fc.array(word, { minLength: 2, maxLength: 12 });
/** White space as files have it, and what may begin a line. */
const space = fc.constantFrom(" ", "  ", "\t", "\u00a0", "\u3000", "\r\n", "\n\n", "\n    ");
const marks = ["//", "///", "#", " *", ">", "> >", "--", "-- |", ";;", "..", "%", "'", "!", "REM", "\t// *"];
const mark = fc.constantFrom(...marks);
const lineEnd = fc.constantFrom("\n", "\r\n");
const anywhere = { isCut: false, hint: null, counts: () => true };

function find(text: string, quote: string) {
  return quoteFinder(Buffer.from(text))(quote, anywhere);
}

it("a quote is found in any layout, at its lines", () => {
  const layout = fc.array(space, { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(words, layout, layout, fc.nat(5), (all, spaces, others, before) => {
      const spread = (between: string[]) => all.map((each, at) => `${at ? between[at] : ""}${each}`).join("");
      const text = spread(spaces);
      const found = find(`${"intro\n".repeat(before)}${text}\nend\n`, spread(others));
      const lines = text.split("\n").length;
      expect(found).toEqual({ from: before + 1, to: before + lines });
    }),
  );
});

it("a quote is found over the lines of a comment or a block quote, with and without their marks", () => {
  const lines = fc.array(
    fc.array(
      word.filter((each) => each !== "*"),
      { minLength: 1, maxLength: 4 },
    ),
    {
      minLength: 2,
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(lines, mark, lineEnd, (all, begin, end) => {
      const written = all.map((line) => `${begin} ${line.join(" ")}`);
      const text = `first\n${written.join(end)}${end}last\n`;
      const place = { from: 2, to: all.length + 1 };
      const shown = all.map((line) => line.join(" "));
      // Whole, flattened, without marks, and from the middle of the first line.
      for (const quote of [
        written.join("\n"),
        written.join(" "),
        shown.join(" "),
        [shown[0], ...written.slice(1)].join("\n"),
      ]) {
        expect(find(text, quote)).toEqual(place);
      }
    }),
  );
});

it("a quote that isn't there isn't found", () => {
  fc.assert(
    fc.property(words, fc.array(fc.tuple(words, space, mark), { maxLength: 8 }), (quote, lines) => {
      const text = lines.map(([all, between, begin]) => `${begin} ${all.join(between)}`).join("\n");
      expect(find(text, [...quote, "elsewhere"].join(" "))).toBeNull();
      // Nor in the middle of other words and numbers.
      expect(find("port 40000", "port 4000")).toBeNull();
      expect(find("timeout 1.55", "timeout 1.5")).toBeNull();
      expect(find("timeout 1.5", "timeout 1")).toBeNull();
    }),
  );
});

it("of several places that count, the nearest is chosen", () => {
  const text = "the port\n\nthe port\n\nthe port\n";
  const at = (hint: number, counts: (place: { from: number }) => boolean = () => true) =>
    quoteFinder(Buffer.from(text))("the port", { isCut: false, hint, counts })?.from;
  expect([at(1), at(3), at(9), at(9, ({ from }) => from < 5)]).toEqual([1, 3, 5, 3]);
});

it("a path is understood as tools show it, and leads nowhere outside", () => {
  const seenAt = new Map([
    ["docs", ["/repo", "/data/job/tree"]],
    ["cli", ["/context/cli"]],
  ]);
  const place = (path: string, repository = "docs") => sourcePlace({ repository, path }, seenAt);
  const name = fc.stringMatching(/^[a-z][a-z.-]{0,5}[a-z]$/);
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (parts) => {
      const path = parts.join("/");
      const docs = { repository: "docs", path };
      for (const written of [path, `./${path}`, `/repo/${path}`, `/data/job/tree//${path}`, `x/../${path}`])
        expect(place(written)).toEqual(docs);
      expect(place(`/context/cli/${path}`)).toEqual({ repository: "cli", path });
      for (const outside of [`/etc/${path}`, `../${path}`, `/repo/../etc/${path}`, `/context/${path}/a`])
        expect(place(outside)).toBeNull();
    }),
  );
  expect(linkedPath("a/link", "../src", "cli.ts")).toBe("src/cli.ts");
  expect(linkedPath("link", "src/", "cli.ts")).toBe("src/cli.ts");
  expect([linkedPath("link", "/etc", "passwd"), linkedPath("a/link", "../..", "b")]).toEqual([null, null]);
});

const content = fc.array(fc.stringMatching(/^[b-y]{4,9}$/), { minLength: 4, maxLength: 9 });
const bytes = (text: string) => Buffer.from(text);

it("a claim is about the change if most of its words, and all its numbers, are in added lines of its page", () => {
  fc.assert(
    fc.property(content, fc.array(content), fc.nat(9999), (statement, others, number) => {
      const lines = others.map((line) => `${line.join(" ")} aaaa`);
      const old = lines.join("\n");
      const said = `${statement.join(" ")} ${number}`;
      const after = bytes([...lines, "", ` ${said.toUpperCase()}.`].join("\r\n"));
      const claim = (text: string, page = "a.md") => ({ page, statement: text });
      const claims = [
        claim(said),
        claim(`${said} zzz`),
        claim(said, "b.md"),
        claim(`${said}7`),
        claim(`aaaa aaaa ${number}`),
        claim("zzzzz zzzzzz zzzz certified zzzzzzz"),
        claim(""),
      ];
      const pages = new Map([["a.md", { before: bytes(old), after }]]);
      expect(claimsInChange({ claims, pages })).toEqual([true, true, false, false, false, false, false]);
    }),
  );
});

it("a number may be spelled out, and is another one if it changes", () => {
  const claims = [{ page: "a.md", statement: "It tries again five times" }];
  const isIn = (after: string) =>
    claimsInChange({ claims, pages: new Map([["a.md", { before: null, after: bytes(after) }]]) });
  expect(isIn("It tries again five times.")).toEqual([true]);
  expect(isIn("It tries again 5 times.")).toEqual([true]);
  expect(isIn("It tries again six times.")).toEqual([false]);
});

it("claims are joined over turns: of what several state, the newest one's sources stay", () => {
  const claim = fc.record({
    page: fc.constantFrom("a", "b"),
    statement: fc.constantFrom("c", "d"),
    n: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(fc.array(claim)), (turns) => {
      const lists = turns as unknown as CheckedClaim[][];
      const joined = joinedClaims(lists) as unknown as { page: string; statement: string; n: number }[];
      const key = ({ page, statement }: { page: string; statement: string }) => page + statement;
      const isNewest = (at: number, each: (typeof joined)[number]) =>
        turns.findLastIndex((turn) => turn.some((other) => key(other) === key(each))) === at;
      expect(joined).toEqual(turns.flatMap((turn, at) => turn.filter((each) => isNewest(at, each))));
      expect(joinedClaims([joinedClaims(lists.slice(0, -1)), lists.at(-1) ?? []])).toEqual(
        joinedClaims(lists),
      );
    }),
  );
});

it("of a job with many turns and many claims, the newest are kept", () => {
  const claim = { page: "a.md", statement: "", isFound: true, url: null, isPublic: true };
  const source = { repository: "docs", path: "a.ts", line: null };
  const claims = (turn: number) =>
    Array.from({ length: 30 }, () => ({ ...claim, statement: `of ${turn}`, source }));
  const turn = (number: number) => ({
    turnKey: `${number}-key`,
    claims: claims(number),
    leftOut: [],
    requester: null,
  });
  const note = TurnNote.parse({
    ...turn(99),
    version: 1,
    commit: "0",
    isPushed: true,
    openPull: null,
    newestPull: null,
    earlier: Array.from({ length: 98 }, (_, at) => turn(at + 1)),
  });
  const kept = turnsBefore(note, "100-key");
  expect(kept.map(({ turnKey }) => turnKey)).toEqual(Array.from({ length: 50 }, (_, at) => `${at + 50}-key`));
  expect(kept.flatMap((each) => each.claims)).toHaveLength(400);
  expect(kept.at(-1)?.claims).toHaveLength(30);
  expect(kept[0]?.claims).toEqual([]);
});
