import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RecordStore } from "../../src/shared/store/record-types.ts";

/** A record of the suite. */
export const Note = z.object({ version: z.literal(1), text: z.string().max(100) });
export type Note = z.infer<typeof Note>;

/** A store of notes under test. */
export type RecordStoreSubject = AsyncDisposable & {
  readonly notes: RecordStore<Note>;
  /** Another store of notes over the same data. */
  readonly drafts: RecordStore<Note>;
  advance(ms: number): void;
  now(): number;
  /** Writes text into the place of the stored note, without any checks. */
  damage(id: string, text: string): Promise<void>;
  /** Resolves to the record that was set aside under a key, with its text. */
  setAside(key: string): Promise<unknown>;
  setAsideCount(): number;
  /** All lines logged at error so far. */
  errors(): string;
  /** Opens the same data with a new process. */
  reopen(): Promise<void>;
};

/** Tests a store of records on any Keyv storage. `open` opens an empty one. */
export function describeRecordStore(name: string, open: () => Promise<RecordStoreSubject>): void {
  const note: Note = { version: 1, text: "é <!channel> \u0000 \ud800 :base64:" };

  describe(`${name}: records`, () => {
    it("reads back what was written, also after a restart", async () => {
      await using subject = await open();
      await subject.notes.set("a", note);
      expect(await subject.notes.get("a")).toEqual(note);
      await subject.reopen();
      expect(await subject.notes.get("a")).toEqual(note);
    });

    it("reads nothing where nothing is", async () => {
      await using subject = await open();
      expect(await subject.notes.get("a")).toBeUndefined();
      await subject.notes.delete("a");
    });

    it("replaces and deletes", async () => {
      await using subject = await open();
      await subject.notes.set("a", note);
      await subject.notes.set("a", { ...note, text: "second" });
      expect(await subject.notes.get("a")).toEqual({ ...note, text: "second" });
      await subject.notes.delete("a");
      expect(await subject.notes.get("a")).toBeUndefined();
    });

    it.each(["T1:C1:1.2", "notes:a", "notes", ":", " ", "a%b_c*", "é"])(
      "keeps the record %j apart from all others",
      async (id) => {
        await using subject = await open();
        const others = ["a", "C1:1.2", `${id}:`, `notes:${id}`, `${id}x`];
        for (const other of others) await subject.notes.set(other, { ...note, text: other });
        await subject.drafts.set(id, { ...note, text: "draft" });
        await subject.notes.set(id, note);

        expect(await subject.notes.get(id)).toEqual(note);
        expect(await subject.drafts.get(id)).toEqual({ ...note, text: "draft" });
        await subject.notes.delete(id);
        expect(await subject.notes.get(id)).toBeUndefined();
        expect(await subject.drafts.get(id)).toEqual({ ...note, text: "draft" });
        for (const other of others) expect(await subject.notes.get(other)).toMatchObject({ text: other });
      },
    );

    it("drops a record when its time to live is over, by the injected clock", async () => {
      await using subject = await open();
      await subject.notes.set("short", note, 1_000);
      await subject.notes.set("long", note);
      subject.advance(999);
      expect(await subject.notes.get("short")).toEqual(note);
      subject.advance(1);
      expect(await subject.notes.get("short")).toBeUndefined();
      expect(await subject.notes.get("long")).toEqual(note);
    });

    it("keeps a record for good that is written again without a time to live", async () => {
      await using subject = await open();
      await subject.notes.set("a", note, 1_000);
      await subject.notes.set("a", note);
      subject.advance(10_000);
      expect(await subject.notes.get("a")).toEqual(note);
    });

    it("leaves out what the schema does not know", async () => {
      await using subject = await open();
      const wider = { ...note, secret: "xoxb-1" };
      await subject.notes.set("a", wider);
      expect(await subject.notes.get("a")).toEqual(note);
    });
  });

  describe(`${name}: records that do not parse`, () => {
    it("refuses to write one, and leaves what is there", async () => {
      await using subject = await open();
      await subject.notes.set("a", note);
      const bad = subject.notes.set("a", { version: 1, text: "s3cret".repeat(100) });
      await expect(bad).rejects.toMatchObject({
        code: "record_invalid",
        message: "The record notes/a was not written, as it does not fit its schema: text: too_big",
      });
      expect(await subject.notes.get("a")).toEqual(note);
    });

    it.each([
      ["no JSON", "s3cret{", "not JSON", "s3cret{"],
      ["nothing", "", "not JSON", ""],
      ["JSON without an envelope", `"s3cret"`, "not JSON", `"s3cret"`],
      [
        "of another version",
        `{"value":{"version":2,"text":"s3cret"}}`,
        "version: invalid_value",
        `{"version":2,"text":"s3cret"}`,
      ],
      ["null", `{"value":null}`, "record: invalid_type", "null"],
    ])("sets aside a stored record that is %s", async (_, text, reason, raw) => {
      await using subject = await open();
      await subject.notes.set("a", note);
      await subject.notes.set("b", note);
      await subject.damage("a", text);

      expect(await subject.notes.get("a")).toBeUndefined();

      expect(await subject.setAside("notes:a")).toEqual({ version: 1, raw, reason, at: subject.now() });
      expect(subject.setAsideCount()).toBe(1);
      expect(subject.errors()).toContain(`"record":"notes","id":"a"`);
      expect(subject.errors()).not.toContain("s3cret");
      expect(await subject.notes.get("b")).toEqual(note);
      expect(await subject.notes.get("a")).toBeUndefined();
      expect(subject.setAsideCount()).toBe(1);
      await subject.notes.set("a", note);
      expect(await subject.notes.get("a")).toEqual(note);
    });

    it("sets a record aside once when it is read many times at once", async () => {
      await using subject = await open();
      await subject.damage("a", "{");
      const read = await Promise.all(Array.from({ length: 10 }, () => subject.notes.get("a")));
      expect(read).toEqual(Array.from({ length: 10 }, () => undefined));
      expect(subject.setAsideCount()).toBe(1);
    });

    it("does not lose a good record that is written while a bad one is set aside", async () => {
      await using subject = await open();
      for (let n = 0; n < 20; n += 1) {
        const id = `a${n}`;
        await subject.damage(id, "{");
        const reading = subject.notes.get(id);
        for (let turns = 0; turns < n; turns += 1) await Promise.resolve();
        await subject.notes.set(id, note);
        await reading;
        expect(await subject.notes.get(id)).toEqual(note);
      }
    });
  });
}
