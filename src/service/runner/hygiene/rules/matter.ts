import { parseDocument } from "yaml";
import type { DocPage } from "../page.ts";
import type { Rule } from "../rule.ts";

/** More of it is data. */
const MAX_CHARS = 20_000;
const NEAR_CHARS = 3000;
const MIN_CHARS = 4;
/** Without these, a site shows a page under another name, or nowhere. Others may go on purpose. */
const NEEDED = /^(?:title|id|slug|layout|permalink)\s*[:=]/m;

/** Front matter that can't be read, or that is gone. */
export const frontMatter: Rule = (page, before) => {
  const fault = faultOf(page);
  if (fault !== null) return [{ at: 0, key: fault, says: `The front matter can't be read: ${fault}.` }];
  if (before?.matter == null || page.matter !== null || page.text.trim() === "") return [];
  const was = before.text.slice(before.matter.from, before.matter.to);
  const [, first = ""] = was.split(/\r?\n/);
  const isThere = first.length >= MIN_CHARS && page.text.slice(0, NEAR_CHARS).includes(first);
  if (!isThere && !NEEDED.test(was)) return [];
  const says = isThere
    ? "The front matter doesn't begin in the first line, or has no end."
    : "The page's front matter is gone.";
  return [{ at: 0, key: "gone", says }];
};

function faultOf({ text, matter }: DocPage): string | null {
  if (matter === null || matter.to > MAX_CHARS || !text.startsWith("---")) return null;
  const source = text.slice(matter.from, matter.to).split(/\r?\n/).slice(1, -1).join("\n");
  // A theme's own placeholders are no YAML.
  if (/\{\{|\{%|<%/.test(source)) return null;
  try {
    const { errors, contents } = parseDocument(source, { logLevel: "silent" });
    const [first] = errors;
    if (first !== undefined) return (first.message.split("\n")[0] ?? "").replace(/ at line \d+.*$/, "");
    const isPairs = contents === null || "items" in contents;
    return isPairs ? null : "it isn't made of names and values";
  } catch {
    return "it can't be parsed";
  }
}
