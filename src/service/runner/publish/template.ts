import remarkParse from "remark-parse";
import { unified } from "unified";
import { BREAK, isNestedTooDeep } from "./inert-text.ts";

const DESCRIPTION = new RegExp(
  String.raw`^(?!.*\b(?:types?|kinds?|breaking|current|previous)\b)` +
    String.raw`.*\b(?:description|summary|overview|what|changes?|details)\b`,
  "i",
);
const CHECKS = /\b(?:test(?:s|ed|ing)?|checks?|verif\w+|validation|qa)\b/i;

/** Only blocks matter. Marks within lines could take long to pair. */
const BLOCKS_ONLY = {
  disable: {
    null: ["attention", "autolink", "codeText", "htmlText", "labelEnd", "labelStartImage", "labelStartLink"],
  },
};
const blocks = unified().data("micromarkExtensions", [BLOCKS_ONLY]).use(remarkParse).freeze();

type Tree = ReturnType<typeof blocks.parse>;
type Node = Tree["children"][number];

/** A repository's template for pull requests, with the places that our parts belong to. */
type Template = {
  /** True if it has its own section for checks. */
  hasChecks: boolean;
  /**
   * The template with our parts, each under its heading. What describes the change is on top if it
   * has none. Everything else stays, but for placeholders that nobody would fill in.
   */
  filled: (main: string, checks: string) => string;
};

/**
 * Reads a template as a code host does: what is in code or in comments is no heading. Our own marks
 * mean nothing in it. They are broken, not removed, because what is left of a text could become a
 * mark again.
 */
export function parseTemplate(given: string): Template {
  const text = given
    .replace(/^\ufeff/, "")
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/docs-agent(?=:)/gi, `$&${BREAK}`);
  const lines = withoutPlaceholders(text.split("\n"));
  const headings = parsed(lines).children.filter(({ type }) => type === "heading");
  /** The number of lines up to the end of the first heading that matches. */
  const below = (what: RegExp) => {
    const found = headings.find((heading) => what.test(sourceOf(heading, lines).join(" ")));
    return found?.position?.end.line;
  };
  const [forMain = 0, forChecks] = [below(DESCRIPTION), below(CHECKS)];
  return {
    hasChecks: forChecks !== undefined,
    filled(main, checks) {
      const places = [
        ...(forChecks === undefined ? [] : [{ at: forChecks, part: checks }]),
        { at: forMain, part: main },
      ];
      const all = [...lines];
      // The last one first, so that the numbers of lines stay.
      for (const { at, part } of places.toSorted((one, other) => other.at - one.at)) {
        const isTight = (all[at] ?? "").trim() !== "";
        all.splice(at, 0, ...(at === 0 ? [] : [""]), part, ...(isTight ? [""] : []));
      }
      return all.join("\n");
    },
  };
}

/** Nobody writes a template whose lists are nested so deep that it takes long to read them. */
function parsed(lines: readonly string[]): Tree {
  const text = lines.join("\n");
  return blocks.parse(isNestedTooDeep(text) ? "" : text);
}

function sourceOf({ position }: Node, lines: readonly string[]): string[] {
  return position === undefined ? [] : lines.slice(position.start.line - 1, position.end.line);
}

const CLOSING = String.raw`(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)`;
const REFERRING = String.raw`(?:addresses|issue|part of|refs?|references?|relate[sd] to|see|ticket)`;
/** Stands for an issue: `(issue)`, `[number]`, `<link>`, `XXX`. */
const BLANK =
  String.raw`(?:\([^()\d\n]{0,60}\)|\[[^[\]\d\n]{0,60}\](?:\([^()\d\n]{0,60}\))?|` +
  String.raw`\{[^{}\d\n]{0,60}\}|<[^<>!\d\n]{0,60}>|[?_.…-]{1,20})`;
const COMMENTS = String.raw`(?:[ \t]*<!--(?:(?!-->)[^])*-->)*`;

/** Matches lines which only say that the number of an issue is missing. */
function missing(says: string): RegExp {
  return new RegExp(String.raw`^[ \t]*[*_\x60]{0,3}${says}[*_\x60]{0,3}[.,]?${COMMENTS}[ \t]*$`, "i");
}

/** `Closes #`, `Fixes: #(issue)`, `Related to #<!-- number -->`. */
const WITHOUT_NUMBER = missing(
  String.raw`(?:${CLOSING}(?:[ \t]*(?:[/|,]|or|and)[ \t]*${CLOSING})*|${REFERRING})` +
    String.raw`[*_]{0,3}[ \t]*:?[*_]{0,3}[ \t]*#[ \t]*(?:${BLANK}|[a-z][a-z_ -]{0,30})?`,
);
/** `Closes`, `Fixes:`, `Resolves (issue)`. In a list, or above one, it can be a kind of change. */
const WITHOUT_SIGN = missing(
  String.raw`(?:closes?|fix(?:es)?|resolves?)[*_]{0,3}[ \t]*` +
    String.raw`(?::[*_]{0,3}|(?<=s[*_]{0,3}[ \t]*))[ \t]*${BLANK}?`,
);
const EMPTY_BULLET = /^\s*(?:[-*+]|\d{1,9}[.)])\s*$/;
/** `Brief description of what's being updated` */
const PROMPT = new RegExp(
  String.raw`^\s*[_[(]?(?:please (?:add|give|include|provide|write) )?(?:an? )?` +
    String.raw`(?:brief|clear|concise|short)(?:(?:,| and|, and) (?:brief|clear|concise|short))?,? ` +
    String.raw`(?:description|explanation|overview|summary) of [^.:#]{1,200}\.?[_\])]?\s*$`,
  "i",
);

/** The lines without those that are there to be filled in and can't be by us. */
function withoutPlaceholders(lines: readonly string[]): string[] {
  const dropped = new Set<number>();
  const drop = (from: number, to: number) => {
    for (let at = from; at <= to; at++) dropped.add(at);
  };
  visit(parsed(lines), lines, drop);
  const kept: string[] = [];
  let isAfterDropped = false;
  for (const [at, line] of lines.entries()) {
    if (dropped.has(at + 1)) {
      isAfterDropped = true;
      continue;
    }
    const isBlank = line.trim() === "";
    // One blank line remains of those around a placeholder.
    const isSpare = isBlank && isAfterDropped && (kept.at(-1) ?? "").trim() === "";
    isAfterDropped &&= isBlank;
    if (!isSpare && !(isBlank && kept.length === 0)) kept.push(line);
  }
  while (kept.at(-1)?.trim() === "") kept.pop();
  return kept;
}

type Drop = (from: number, to: number) => void;

function visit(
  parent: Tree | Extract<Node, { type: "listItem" }>,
  lines: readonly string[],
  drop: Drop,
): void {
  for (const [at, node] of parent.children.entries()) {
    const { start, end } = node.position ?? { start: { line: 1 }, end: { line: 0 } };
    const source = sourceOf(node, lines);
    if (node.type === "list") {
      for (const item of node.children) {
        if (isPlaceholder(item, lines)) drop(item.position?.start.line ?? 1, item.position?.end.line ?? 0);
        else visit(item, lines, drop);
      }
    } else if (node.type === "heading" && source.length > 1 && /^ {0,3}-\s*$/.test(source.at(-1) ?? "")) {
      // Whoever writes a single dash below a line means a list.
      drop(end.line, end.line);
    } else if (node.type === "paragraph") {
      const next = parent.children[at + 1];
      const hasList = next?.type === "list" && !next.children.every((item) => isPlaceholder(item, lines));
      const isPlain = (text: string) =>
        WITHOUT_NUMBER.test(text) || EMPTY_BULLET.test(text) || (!hasList && WITHOUT_SIGN.test(text));
      // An item's first line has its bullet, too.
      const isFirst = parent.type === "listItem" && at === 0;
      if (!isFirst && (isPlain(source.join("\n")) || (source.length === 1 && PROMPT.test(source[0] ?? "")))) {
        drop(start.line, end.line);
        continue;
      }
      for (const [offset, line] of source.entries()) {
        if (!(isFirst && offset === 0) && isPlain(line)) drop(start.line + offset, start.line + offset);
      }
    }
  }
}

/** True for an item of a list without words, or with nothing but the sign of an issue's number. */
function isPlaceholder(item: Extract<Node, { type: "listItem" }>, lines: readonly string[]): boolean {
  const [first, ...more] = item.children;
  if (first?.type === "paragraph" && more.length === 0) {
    const [line = "", ...rest] = sourceOf(item, lines);
    return WITHOUT_NUMBER.test([line.replace(/^\s*(?:[-*+]|\d{1,9}[.)])/, ""), ...rest].join("\n"));
  }
  return item.children.every(
    (child) => child.type === "list" && child.children.every((inner) => isPlaceholder(inner, lines)),
  );
}
