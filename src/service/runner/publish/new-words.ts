/** How many words in a row are looked for together. */
const WINDOW = 5;
const MAX_WINDOWS = 300;

/**
 * True if a page has the new words of a change. `patch` is the change of its source, a unified
 * diff, and `page` the page as it is shown: HTML or text. Only letters and digits count, because
 * markup differs. What is new are words in a row that no removed or unchanged line has. Half of
 * them are enough: not all of a source is shown.
 */
export function hasNewWords({ patch, page }: { patch: string; page: Uint8Array }): boolean {
  const lines = patch.split("\n");
  const before = padded(
    wordsOf(
      lines
        .filter((line) => !line.startsWith("+"))
        .map(textOfSource)
        .join(" "),
    ),
  );
  const added = lines.filter((line) => line.startsWith("+")).map(textOfSource);
  const wanted = [...new Set(added.flatMap((line) => windowsOf(wordsOf(line))))]
    .filter((words) => !before.includes(words))
    .slice(0, MAX_WINDOWS);
  const shown = padded(wordsOf(textOfPage(Buffer.from(page).toString("utf8"))));
  const found = wanted.filter((words) => shown.includes(words)).length;
  return wanted.length > 0 && found * 2 >= wanted.length;
}

function padded(words: readonly string[]): string {
  return ` ${words.join(" ")} `;
}

function wordsOf(text: string): string[] {
  return (
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  );
}

function windowsOf(words: readonly string[]): string[] {
  const count = words.length === 0 ? 0 : Math.max(1, words.length - WINDOW + 1);
  return Array.from({ length: count }, (_, at) => padded(words.slice(at, at + WINDOW)));
}

/** A line of a patch without its sign, the targets of links, and tags. */
function textOfSource(line: string): string {
  return withoutTags(line.slice(1).replace(/\]\([^()]*\)/g, " "));
}

const HIDDEN = ["script", "style", "template", "noscript"];

/** What of HTML is text. Reads each character once. */
function textOfPage(html: string): string {
  // The only letter that gets longer in lower case, which would move what follows.
  const lower = html.replaceAll("İ", "I").toLowerCase();
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const next = lower.indexOf("<", at);
    if (next < 0) break;
    parts.push(html.slice(at, next));
    const hidden = HIDDEN.find((name) => lower.startsWith(name, next + 1));
    const end = lower.startsWith("<!--", next) ? "-->" : hidden === undefined ? ">" : `</${hidden}`;
    const closed = lower.indexOf(end, next + 1);
    if (closed < 0) return decoded(parts.join(" "));
    at = closed + end.length;
  }
  return decoded([...parts, html.slice(at)].join(" "));
}

function withoutTags(text: string): string {
  return text.includes(">") ? decoded(text.replace(/<[^<>]*>/g, " ")) : decoded(text);
}

/** Letters that are written as numbers. Names of characters are mostly no letters. */
function decoded(text: string): string {
  return text
    .replace(/&#(?:x([0-9a-f]{1,6})|(\d{1,7}));/gi, (_, hex?: string, digits?: string) => {
      const code = hex === undefined ? Number(digits) : Number.parseInt(hex, 16);
      return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : " ";
    })
    .replace(/&[a-z]{2,10};/gi, " ");
}
