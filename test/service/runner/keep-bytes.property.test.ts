import * as fc from "fast-check";
import { expect, it } from "vitest";
import { keepBytes, type PageBytes } from "../../../src/service/runner/workspace/bytes/keep-bytes.ts";

const MARK = "\ufeff";
const ENDS = ["\n", "\r\n", "\r"];

type Line = { text: string; end: string };
type Page = { mark: string; lines: Line[] };

/** A page of few words, so that many lines are the same, with ends of one kind or of several. */
const anyPage = fc
  .record({
    mark: fc.constantFrom("", MARK),
    texts: fc.array(fc.constantFrom("", "a", "b", "  c", "# d", "über", "é\f"), {
      minLength: 1,
      maxLength: 30,
    }),
    ends: fc.oneof(
      fc.constantFrom(...ENDS).map((end) => [end]),
      // A carriage return before an empty line would be the end of a line on Windows.
      fc.constantFrom(["\n", "\r\n"], ["\r", "\r\n"]),
    ),
    picks: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
    tail: fc.nat(3),
  })
  .map(({ mark, texts, ends, picks, tail }): Page => {
    const pick = (nth: number) => ends[(picks[nth % picks.length] ?? 0) % ends.length] ?? "\n";
    const lines = [...texts, "last"].map((text, nth) => ({ text, end: pick(nth) }));
    const [last] = lines.slice(-1);
    if (last !== undefined && tail === 0) last.end = "";
    for (let more = 1; more < tail; more += 1) lines.push({ text: "", end: pick(more) });
    return { mark, lines };
  });

const anyEdits = fc.array(
  fc.record({ at: fc.nat(), kind: fc.constantFrom("change", "insert", "remove"), text: fc.nat(9) }),
  { minLength: 1, maxLength: 4 },
);

/** What an editor makes of all line ends, the byte order mark and the end of a page. */
const anyEditor = fc.record({
  end: fc.constantFrom(null, ...ENDS),
  mark: fc.constantFrom(null, "", MARK),
  tail: fc.constantFrom(null, 0, 1, 2),
});

function textOf({ mark, lines }: Page): string {
  return mark + lines.map(({ text, end }) => text + end).join("");
}

/** Lines before the page's last one, changed. New words occur nowhere else. */
function edited(page: Page, edits: { at: number; kind: string; text: number }[]): Page {
  const lines = [...page.lines];
  const most = lines.findLastIndex(({ text }) => text !== "");
  const places = new Set<number>();
  for (const [nth, { at, kind, text }] of edits
    .toSorted((one, other) => (other.at % most) - (one.at % most))
    .entries()) {
    const place = at % most;
    if (places.has(place)) continue;
    places.add(place);
    const words = `new ${nth} ${text}`;
    const end = lines[place]?.end ?? "\n";
    if (kind === "remove") lines.splice(place, 1);
    else if (kind === "insert") lines.splice(place, 0, { text: words, end: "new" });
    else lines[place] = { text: words, end };
  }
  return { ...page, lines };
}

/** The end that occurs most often in a page; of several, the first. */
function mainEnd({ lines }: Page): string {
  const ends = lines.map(({ end }) => end).filter((end) => end !== "");
  const count = (end: string) => ends.filter((each) => each === end).length;
  const most = Math.max(...ends.map(count));
  return ends.find((end) => count(end) === most) ?? "\n";
}

function keep(before: string | Buffer | null, now: string | Buffer, more: Partial<PageBytes> = {}) {
  const bytes = Buffer.from(now);
  const page = { stored: null, siblings: [], withinMs: 60_000, ...more };
  const kept = keepBytes({ before: before === null ? null : Buffer.from(before), now: bytes, ...page });
  return { ...kept, text: (kept.bytes ?? bytes).toString("latin1") };
}

const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

it("only lines that were edited differ, whatever the editor made of the page's bytes", () => {
  fc.assert(
    fc.property(anyPage, anyEdits, anyEditor, (page, edits, editor) => {
      const main = mainEnd(page);
      const wanted = edited(page, edits);
      for (const line of wanted.lines) if (line.end === "new") line.end = main;
      const most = wanted.lines.findLastIndex(({ text }) => text !== "");
      const asLeft: Page = {
        mark: editor.mark ?? wanted.mark,
        lines: wanted.lines.map(({ text, end }) => ({ text, end: end === "" ? "" : (editor.end ?? end) })),
      };
      if (editor.tail !== null) {
        asLeft.lines.length = most + 1;
        const last = asLeft.lines[most] ?? { text: "", end: "" };
        last.end = (editor.end ?? main).repeat(editor.tail);
      }
      const { text } = keep(textOf(page), textOf(asLeft));
      const kept = linesOf(text);
      expect(kept.map((line) => line.trim())).toEqual(
        linesOf(bytesOf(textOf(wanted))).map((line) => line.trim()),
      );
      // Of two lines that say the same, either may be the one that was removed.
      const before = linesOf(bytesOf(textOf(page)));
      expect(differing(before, kept)).toBeLessThanOrEqual(
        differing(before, linesOf(bytesOf(textOf(wanted)))),
      );
    }),
    { numRuns: 1000 },
  );
});

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
}

/** How many lines a diff between two pages has. */
function differing(one: string[], other: string[]): number {
  let row = Array.from({ length: other.length + 1 }, () => 0);
  for (const line of one) {
    const next = [0];
    for (const [at, each] of other.entries()) {
      next.push(line === each ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    }
    row = next;
  }
  return one.length + other.length - 2 * (row.at(-1) ?? 0);
}

it("a page that was edited byte by byte stays exactly so", () => {
  const once = (page: Page): Page => ({
    ...page,
    lines: page.lines.map(({ text, end }, nth) => ({ text: text === "" ? "" : `${text}${nth}`, end })),
  });
  const changes = anyEdits.map((edits) => edits.map((edit) => ({ ...edit, kind: "change" })));
  fc.assert(
    fc.property(anyPage.map(once), changes, (page, edits) => {
      const wanted = textOf(edited(page, edits));
      expect(keep(textOf(page), wanted).text).toBe(bytesOf(wanted));
    }),
  );
});

it("if nothing but line ends, the mark or the end changes, that is the change", () => {
  const lf = "a\nb\n";
  for (const [before, now] of [
    ["a\r\nb\r\n", lf],
    ["a\r\nb\r\n", ""],
    [lf, "a\r\nb\r\n"],
    [`${MARK}${lf}`, lf],
    [lf, "a\nb"],
    ["a\nb", lf],
  ] as const) {
    expect(keep(before, now).text).toBe(bytesOf(now));
  }
  // What git would undo is no change.
  expect(keep(lf, "a\r\nb\r\n", { stored: "text" }).text).toBe(lf);
  expect(keep("a\r\nb\r\n", lf, { stored: "text" }).text).toBe(lf);
});

it.each([
  ["what .gitattributes call text is stored with line feeds", { stored: "text" as const }, "a\nb\n"],
  ["what they don't let git touch stays", { stored: "as-is" as const }, "a\r\nb\n"],
  [
    "its siblings decide otherwise",
    { siblings: ["x\r\ny\r\n", "x\r\n", "x\n"].map((text) => Buffer.from(text)) },
    "a\r\nb\r\n",
  ],
  ["without any, it stays as it was written", {}, "a\r\nb\n"],
])("a new page: %s", (_, more, wanted) => {
  expect(keep(null, "a\r\nb\n", more).text).toBe(wanted);
  const data = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0]);
  expect(keep(null, data, more).text).toBe(data.toString("latin1"));
});

it("tells a page that isn't UTF-8 from one whose letters were lost", () => {
  const before = Buffer.from("# Caf\u00e9\r\nInstal it.\r\n", "latin1");
  expect(keep(before, before.toString("utf8").replace("Instal ", "Install "))).toMatchObject({
    isDamaged: true,
  });
  const exact = Buffer.from(
    before.toString("latin1").replace("Instal ", "Install ").replaceAll("\r\n", "\n"),
    "latin1",
  );
  expect(keep(before, exact)).toMatchObject({ isDamaged: false, text: "# Caf\u00e9\r\nInstall it.\r\n" });
  expect(keep("\ufffd\n", "\ufffd\ufffd\n")).toMatchObject({ isDamaged: false });
  const utf16 = Buffer.from("\ufeffa\r\nb\r\n", "utf16le");
  expect(keep(utf16, Buffer.from("\ufeffa\nc\n", "utf16le"))).toMatchObject({
    isDamaged: false,
    bytes: null,
  });
});
