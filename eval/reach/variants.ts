import { type Files, textOf } from "../files.ts";
import { chosen, type Part, partedPages, textOfParts } from "./page-parts.ts";

/** Changes a part without changing what it says. Null if it can't be. */
type Variant = (text: string, kind: Part["kind"]) => string | null;

const WIDTH = 72;

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + word.length >= WIDTH) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

/** Neutral changes, by their kind. */
export const VARIANTS: Readonly<Record<string, Variant>> = {
  rewrapped: (text, kind) =>
    kind === "prose" && text.includes("\n") && !/[<{:]/.test(text) ? wrapped(text) : null,
  "list-marks": (text, kind) =>
    kind === "list" && /^- /m.test(text) && !/^\s+\S/m.test(text) ? text.replace(/^- /gm, "* ") : null,
  "table-padding": (text, kind) => (kind === "table" ? text.replace(/ +\|$/gm, "  |") : null),
  "emphasis-marks": (text, kind) =>
    kind === "prose" && /\*\*[^*]+\*\*/.test(text) ? text.replace(/\*\*([^*]+)\*\*/g, "__$1__") : null,
  "sentence-added": (text, kind) =>
    kind === "prose" && /[a-z]\.$/.test(text) && !/[<>:`]/.test(text)
      ? `${text} This is the same on all platforms.`
      : null,
  "with-a-thousands-mark": (text, kind) =>
    kind === "prose" && /(?<![\w.,])\d,\d{3}(?![\w,])/.test(text)
      ? text.replace(/(\d),(\d{3})(?!\d)/g, "$1$2")
      : null,
};

/** Where a change brings nothing, these are changes that nobody asked for. */
export const ONLY_INSIDE: ReadonlySet<string> = new Set(["sentence-added", "with-a-thousands-mark"]);

/** More of them, for pages that those are too few for. */
export const LAYOUTS: Readonly<Record<string, Variant>> = {
  "line-broken": (text, kind) => {
    const spaces =
      kind === "prose" && !/[<{|:]/.test(text) ? [...text.matchAll(/(?<=[a-z,]) (?=[a-z]{2,})/g)] : [];
    const space = spaces.at(Math.floor(spaces.length / 2));
    const isInCode = (text.slice(0, space?.index).split("`").length ?? 0) % 2 === 0;
    const isInLink = /\[[^\]]*$|\]\([^)]*$/.test(text.slice(0, space?.index));
    return space === undefined || isInCode || isInLink
      ? null
      : `${text.slice(0, space.index)}\n${text.slice(space.index + 1)}`;
  },
  "fence-marks": (text, kind) =>
    kind === "sample" && /^```[\w-]*\n[^]*\n```$/.test(text) && !/\n[ \t]*[`~]{3}/.test(text.slice(0, -4))
      ? text.replace(/^```/, "~~~").replace(/```$/, "~~~")
      : null,
  "blank-line": (text, kind) => (kind === "prose" || kind === "heading" ? `${text}\n` : null),
};

/**
 * Makes a neutral change to a solution, in a part that it brings if `isInside`. Null if it can't.
 */
export function varied(kind: string, base: Files, reference: Files, isInside: boolean): Files | null {
  const places = partedPages(base, reference).flatMap((page) =>
    page.parts.flatMap((part, at) => {
      const changed =
        page.isKept[at] === isInside
          ? null
          : ((VARIANTS[kind] ?? LAYOUTS[kind])?.(part.text, part.kind) ?? null);
      return changed === null || changed === part.text || textOf(base.get(page.path)) === null
        ? []
        : [{ page, at, changed }];
    }),
  );
  const place = chosen(places, kind);
  if (place === undefined) return null;
  const { page, at, changed } = place;
  const parts = page.parts.map((part, nth) => (nth === at ? { ...part, text: changed } : part));
  return new Map(reference).set(page.path, Buffer.from(textOfParts(parts)));
}
