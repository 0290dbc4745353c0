import { type Trace, keyOfText, lineTextAt, type Rule, shown } from "../rule.ts";
import type { Tag } from "../tags.ts";

/** HTML lets these go without an end. */
const MAY_STAY_OPEN = new Set(
  "p li dt dd tr td th thead tbody tfoot option optgroup colgroup caption rt rp html head body".split(" "),
);

/** Tags without their other half, and MDX that can't be read. */
export const openTag: Rule = (page, before) => {
  if (page.fault !== null) {
    const { at, reason } = page.fault;
    const line = lineTextAt(page, at);
    if (before?.fault != null) return [];
    return [{ at, key: reason, says: `MDX can't read this line: ${shown(line)}. ${sentence(reason)}` }];
  }
  const found: Trace[] = [];
  for (const [name, tags] of byName(page.tags)) {
    if (page.markup !== "mdx" && MAY_STAY_OPEN.has(name)) continue;
    const [lone] = unmatched(tags);
    if (lone === undefined) continue;
    const what = lone.kind === "open" ? "is opened and not closed" : "is closed and not open";
    found.push({ at: lone.from, key: `${name} ${lone.kind}`, says: `<${name}> ${what}.` });
  }
  return found;
};

function sentence(reason: string): string {
  const [first = ""] = reason.split("\n");
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

function byName(tags: readonly Tag[]): Map<string, Tag[]> {
  const names = new Map<string, Tag[]>();
  for (const tag of tags) {
    if (tag.kind === "alone") continue;
    const others = names.get(tag.name);
    if (others === undefined) names.set(tag.name, [tag]);
    else others.push(tag);
  }
  return names;
}

function unmatched(tags: readonly Tag[]): Tag[] {
  const open: Tag[] = [];
  const lone: Tag[] = [];
  for (const tag of tags) {
    if (tag.kind === "open") open.push(tag);
    else if (open.pop() === undefined) lone.push(tag);
  }
  return [...lone, ...open];
}

/** A setup script is part of a page of VitePress, and is compiled with it. */
const SETUP = /\bsetup\b/;
const HANDLER = /\son[a-z]{3,20}\s*=/i;

/** React takes functions alone, so a text is meant for a browser. */
const TEXT_HANDLER = /\son[a-z]{3,20}\s*=\s*["']/;

/** Code that a reader's browser would run. */
export const script: Rule = (page) => {
  if (page.markup !== "markdown" && page.markup !== "mdx") return [];
  const found: Trace[] = [];
  for (const { name, kind, attributes, from } of page.tags) {
    if (kind === "close") continue;
    const isScript = name === "script" && !SETUP.test(attributes);
    const isHandler = (page.markup === "mdx" ? TEXT_HANDLER : HANDLER).test(attributes);
    const isAddress = /=\s*["']?\s*javascript:/i.test(attributes);
    if (!isScript && !isHandler && !isAddress) continue;
    const says = `A reader's browser would run this: ${shown(lineTextAt(page, from).trim())}.`;
    found.push({ at: from, key: keyOfText(`${name} ${attributes}`), says });
  }
  for (const { index } of page.text.matchAll(/\]\(\s*<?javascript:/gi)) {
    if (page.prose[index] !== "]") continue;
    const line = lineTextAt(page, index);
    found.push({
      at: index,
      key: keyOfText(line),
      says: `A reader's browser would run this: ${shown(line)}.`,
    });
  }
  return found;
};
