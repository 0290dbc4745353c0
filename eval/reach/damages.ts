import type { Files } from "../files.ts";
import { chosen, type Part, type PartedPage, partedPages, textOfParts } from "./page-parts.ts";

/** A wrong solution's files. Null if the damage can't be done to these pages. */
type Damage = (pages: readonly PartedPage[], seed: string) => [path: string, text: string] | null;

/** Changes one part that the solution left alone. */
function onKept(
  kinds: readonly Part["kind"][],
  change: (text: string, seed: string) => string | null,
): Damage {
  return (pages, seed) => {
    const places = pages.flatMap((page) =>
      page.parts.flatMap(({ kind, text }, at) => {
        const changed = page.isKept[at] && kinds.includes(kind) ? change(text, seed) : null;
        return changed === null || changed === text ? [] : [{ page, at, changed }];
      }),
    );
    const place = chosen(places, seed);
    if (place === undefined) return null;
    const { page, at, changed } = place;
    return [
      page.path,
      textOfParts(page.parts.map((part, nth) => (nth === at ? { ...part, text: changed } : part))),
    ];
  };
}

/** Puts a part before or behind one that the solution left alone. */
function beside(added: string): Damage {
  return (pages, seed) => {
    const page = chosen(pages, seed);
    const prose =
      page?.parts.flatMap(({ kind }, at) => (kind === "prose" || kind === "heading" ? [at] : [])) ?? [];
    const at = chosen(prose, seed, "at");
    if (page === undefined || at === undefined) return null;
    const parts = page.parts.toSpliced(at + 1, 0, { text: added, kind: "prose" });
    return [page.path, textOfParts(parts)];
  };
}

function wordOf(text: string, pattern: RegExp, seed: string): RegExpExecArray | null {
  return chosen([...text.matchAll(pattern)], seed, "word") ?? null;
}

function withWord(pattern: RegExp, change: (word: string) => string) {
  return (text: string, seed: string): string | null => {
    const found = wordOf(text, pattern, seed);
    if (found === null) return null;
    return text.slice(0, found.index) + change(found[0]) + text.slice(found.index + found[0].length);
  };
}

function withoutLine(isLine: (line: string, at: number, all: string[]) => boolean) {
  return (text: string, seed: string): string | null => {
    const lines = text.split("\n");
    const at = chosen(
      lines.flatMap((line, nth) => (isLine(line, nth, lines) ? [nth] : [])),
      seed,
    );
    return at === undefined ? null : lines.toSpliced(at, 1).join("\n");
  };
}

const DAMAGES_OF_BOTH_HALVES: Readonly<Record<string, Damage>> = {
  "conflict-markers": onKept(["prose"], (text) => `<<<<<<< HEAD\n${text}\n=======\n${text}\n>>>>>>> docs`),
  "chat-talk": beside("Certainly! Here is the updated page:"),
  "not-inserted": onKept(
    ["prose"],
    withWord(/\b(?:is|are|can|has|have|may) /g, (word) => `${word}not `),
  ),
  "word-deleted": onKept(
    ["prose"],
    withWord(/(?<= )\p{L}{4,} /gu, () => ""),
  ),
  "paragraph-twice": onKept(["prose"], (text) => `${text}\n\n${text}`),
  "invented-variable": beside("Set `AUTO_REPAIR_MODE=full` first, or nothing of this works."),
  "channel-in-comment": beside("<!-- asked for in #docs-internal -->"),
  "thanks-by-name": beside("Thanks to Priya and Tomasz for telling us."),
  "open-fence": onKept(["prose"], (text) => `${text}\n\n\`\`\`sh`),
  "fence-deleted": onKept(["sample"], (text) => text.replace(/\n\s*```\s*$/, "")),
  "heading-deeper": onKept(["heading"], (text) => `##${text}`),
  "delimiter-short": onKept(["table"], (text) => text.replace(/^(\|.*\n\|[^\n]*?)[-: ]+\|$/m, "$1")),
  "paragraph-deleted": onKept(["prose"], () => ""),
  "number-changed": onKept(
    ["prose", "table", "list"],
    withWord(/(?<![\w.])\d{1,5}(?![\w.])/g, (word) => `${word}7`),
  ),
  "sample-line-deleted": onKept(
    ["sample"],
    withoutLine((line, at, all) => at > 0 && at < all.length - 1 && line.trim().length > 3),
  ),
  "invented-advice": beside(
    "We recommend to try this on a copy before you go on, because it can't be undone.",
  ),
};

/** Kinds that nobody looked at while the judge was tuned. */
const NEW_DAMAGES: Readonly<Record<string, Damage>> = {
  "paragraphs-swapped": (pages, seed) => {
    const places = pages.flatMap((page) =>
      page.parts.flatMap(({ kind }, at) => {
        const next = page.parts[at + 1];
        const areKept = page.isKept[at] && page.isKept[at + 1];
        return areKept && kind !== "matter" && kind !== "heading" && next?.kind === "prose"
          ? [{ page, at, next }]
          : [];
      }),
    );
    const place = chosen(places, seed);
    if (place === undefined) return null;
    const { page, at, next } = place;
    const [moved] = page.parts.slice(at, at + 1);
    return moved === undefined ? null : [page.path, textOfParts(page.parts.toSpliced(at, 2, next, moved))];
  },
  "row-deleted": onKept(
    ["table"],
    withoutLine((_line, at) => at > 1),
  ),
  "item-deleted": onKept(
    ["list"],
    withoutLine((line, _at, all) => all.length > 1 && /^[-*]|^\d+\./.test(line)),
  ),
  "code-misspelled": onKept(
    ["prose", "table", "list"],
    withWord(/`[\w.-]{4,}`/g, (word) => `${word.slice(0, -2)}x\``),
  ),
  "matter-changed": onKept(["matter"], (text) => text.replace(/^(title: .*?)("?)$/m, "$1 guide$2")),
  "link-turned": onKept(
    ["prose", "list"],
    withWord(/\]\([^)\s]+\)/g, () => "](https://www.example.org/docs)"),
  ),
};

/** What must not happen outside of a change, by its kind. */
export const DAMAGES: Readonly<Record<string, Damage>> = { ...DAMAGES_OF_BOTH_HALVES, ...NEW_DAMAGES };
/** The kinds that are only in the half that is held out. */
export const HELD_OUT_DAMAGES: ReadonlySet<string> = new Set(Object.keys(NEW_DAMAGES));

/** Does a damage to a solution. Null if it can't be done there. */
export function damaged(kind: string, base: Files, reference: Files, seed: string): Files | null {
  const made = DAMAGES[kind]?.(partedPages(base, reference), `${kind}\n${seed}`) ?? null;
  if (made === null) return null;
  return new Map(reference).set(made[0], Buffer.from(made[1]));
}
