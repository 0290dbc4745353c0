import { decodeNamedCharacterReference } from "decode-named-character-reference";

/**
 * The parts that aren't shown as words: comments, tags, link targets, addresses, marks of notes,
 * roles, attributes, and the boxes and numbers of lists, headings and tables. Each alternative is
 * read in linear time.
 */
const MARKUP = new RegExp(
  [
    String.raw`<!--[^]*?(?:-->|$(?![^]))`,
    String.raw`<\/?[a-z][^<>]*>`,
    String.raw`https?:\/\/[^\s<>()[\]|]+`,
    // A target's own brackets, and those of its title.
    String.raw`\](?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,1000}\)|\[[^\]\n]*\])`,
    // Notes and callouts: [^note], [1], (1), <1>.
    String.raw`\[\^[^[\]\n]{1,100}\]|\[\d{1,3}\](?!\()|\(\d{1,3}\)|<\d{1,3}>`,
    String.raw`\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{[#.:][^{}\n]*\}`,
    // The name of a role, or of an emoji.
    String.raw`:[a-z][\w:+.-]{0,40}:(?=\x60)|(?<![\w:]):[a-z][\w+-]{1,40}:(?![\w:])`,
    String.raw`\b(?:link|xref|image|footnote):[^\s[\]]{0,100}(?=\[)`,
    String.raw`^[ \t>|*+#.-]{0,100}(?:\[[ x]\](?=\s))?` +
      String.raw`(?:[ \t]{0,100}\(?(?:\d{1,9}(?:[.:)-]|\.\d{1,9}){0,9}|(?:[a-z]|[ivx]{1,5})[.)])(?=\s))?`,
    String.raw`(?<=\|)[ \t]{0,100}v?\d{1,9}(?:\.\d{0,9}){0,3}\)?[ \t]{0,100}(?=\||$)`,
    // A word goes on in the next line.
    String.raw`(?<=\p{Ll})\\?-\n[ \t]{0,100}(?=\p{Ll})|\\-`,
  ].join("|"),
  "gimu",
);
/** What a tag says to readers: a value of more than one word. */
const PROSE = /(?<==\s{0,9})(?:"[^"]*\s[^"]*"|'[^']*\s[^']*'|\{`[^`]*\s[^`]*`\})/g;
/**
 * A character by its number or name, as HTML and Markdown write it, or as strings in code do, or
 * bytes of an address.
 */
const ENCODED = new RegExp(
  [
    String.raw`&#0{0,99}(\d{1,7});?`,
    String.raw`&#x0{0,99}([\da-f]{1,6});?`,
    String.raw`&([a-z][a-z\d]{1,31});`,
    String.raw`\\(?:u([\da-f]{4})|u\{0{0,99}([\da-f]{1,6})\}|x([\da-f]{2})|[nrt])`,
    String.raw`((?:%[\da-f]{2})+)`,
  ].join("|"),
  "gi",
);

/** Invisible, so a word goes on behind it. */
const INVISIBLE = "\u00ad";

/**
 * A text as it is written and as it is shown, once or twice. Each place stays where it is. Markup
 * inside words is read as nothing, and as a space.
 */
export function readingsOf(text: string): string[] {
  const written = decoded(text);
  let isInWord = false;
  const shown = written.replace(MARKUP, (markup: string, at: number) => {
    isInWord ||= isLetterAt(written, at - 1) && isLetterAt(written, at + markup.length);
    return withoutTag(markup, " ");
  });
  const readings = shown === written ? [written] : [written, shown];
  return isInWord
    ? [...readings, written.replace(MARKUP, (markup) => withoutTag(markup, INVISIBLE))]
    : readings;
}

/** As many characters, without all but what a tag says in its attributes. */
function withoutTag(markup: string, filler: string): string {
  if (!markup.startsWith("<") || !markup.includes("=")) return filler.repeat(markup.length);
  let end = 0;
  let shown = "";
  for (const { 0: value, index } of markup.matchAll(PROSE)) {
    shown += filler.repeat(index - end) + value;
    end = index + value.length;
  }
  return shown + filler.repeat(markup.length - end);
}

const LETTER = /[\p{L}\p{N}\p{M}]/u;

function isLetterAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  // Any half of a pair may be a letter.
  return at >= 0 && at < text.length && ((unit & 0xf800) === 0xd800 || LETTER.test(text.charAt(at)));
}

/** The text with encoded characters as themselves. Each place stays where it is. */
function decoded(text: string): string {
  return text.replace(ENCODED, (whole: string, ...groups: (string | undefined)[]) =>
    characterOf(whole, groups).padEnd(whole.length, INVISIBLE),
  );
}

function characterOf(whole: string, groups: readonly (string | undefined)[]): string {
  const [decimal, hex, name, unit, point, byte, address] = groups;
  if (name !== undefined) return named(name) || " ";
  if (address !== undefined) return fromBytes(address);
  if (decimal !== undefined) return fromCode(Number(decimal));
  const code = hex ?? unit ?? point ?? byte;
  // Otherwise, it is the end of a line, or a tab.
  return code === undefined ? "\n" : fromCode(Number.parseInt(code, 16));
}

/** In a text of capitals, names of characters may be in capitals, too. */
function named(name: string): string | false {
  return decodeNamedCharacterReference(name) || decodeNamedCharacterReference(name.toLowerCase());
}

function fromCode(code: number): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : INVISIBLE;
}

function fromBytes(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return " ";
  }
}
