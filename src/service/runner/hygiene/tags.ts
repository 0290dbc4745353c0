/** A tag of HTML or JSX on a page. `from` and `to` are offsets. */
export type Tag = {
  name: string;
  kind: "open" | "close" | "alone";
  from: number;
  to: number;
  attributes: string;
};

const TAG = /<(\/?)([A-Za-z][\w.:-]*)((?:"[^"]*"|'[^']*'|[^'">])*?)(\/?)>/g;
/** One tag of JSX, which the parser has found. A fragment has no name. */
const JSX = /^<\s*(\/?)\s*([\w$.:-]*)([^]*?)(\/?)\s*>$/;
/** Elements whose content is no markup. */
const RAW = /(<(script|style|textarea)\b[^>]*>)([^]*?)(?=<\/\2\s*>)/gi;
const ALONE = new Set(
  "area base br col embed hr img input link meta param source track wbr command keygen frame".split(" "),
);

/** The tags in these stretches of a text, in their order. A stretch of JSX is one tag. */
export function tagsIn(
  text: string,
  stretches: readonly { type: string; from: number; to: number }[],
): Tag[] {
  const tags: Tag[] = [];
  let at = 0;
  for (const { type, from, to } of stretches) {
    if (from < at) continue;
    at = to;
    const inner = text.slice(from, to);
    if (type.startsWith("mdxJsx")) {
      const match = JSX.exec(inner);
      if (match !== null) tags.push(tagOf(match, from, true));
      continue;
    }
    const markup = inner.replace(
      RAW,
      (_, open: string, _name, content: string) => open + content.replace(/[^\n]/g, " "),
    );
    for (const match of markup.matchAll(TAG)) tags.push(tagOf(match, from, false));
  }
  return tags;
}

function tagOf(match: RegExpExecArray, from: number, isJsx: boolean): Tag {
  const [all, slash, name = "", attributes = "", end] = match;
  const isAlone = end === "/" || (!isJsx && ALONE.has(name.toLowerCase()));
  return {
    name: isJsx || /^[A-Z][a-z]/.test(name) ? name : name.toLowerCase(),
    kind: slash === "/" ? "close" : isAlone ? "alone" : "open",
    from: from + match.index,
    to: from + match.index + all.length,
    attributes,
  };
}
