const WIDTH = 72;
/** A longer word is followed by a line's end, whatever comes then. */
const MAX_UNIT = 40;
/** How much further than the text around it code is indented. */
const CODE_INDENT = 4;
/** Quotes, white space, and the mark of a list's item. */
const START = /^((?:[ \t]{0,3}>)*)([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S))?/;
const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})/;
/** At the beginning of a line, these words would begin something else. */
const MARK = /^(?:[-*+>|=]|#{1,6}|\d{1,9}[.)]|-{2,}|={2,}|[`~]{3,}.*)$/;

/**
 * Wraps lines at 72 characters, as git's own tools expect it. Code stays as it is, fenced or
 * indented. A list's items hang below their first word. A word that is longer, such as an address,
 * has a line of its own.
 */
export function wrappedText(text: string): string {
  const wrapped: string[] = [];
  let fence: { mark: string; quotes: number; indent: number } | null = null;
  /** Where the words of the items around a line begin, the outermost first. */
  let items = [0];
  let quotesBefore = 1;
  let isCode = false;
  /** True if the line before ended a paragraph, so that code can begin. */
  let isAfterBlank = true;
  for (const line of text.split("\n")) {
    const [start = "", quote = "", white = "", mark = ""] = START.exec(line) ?? [];
    const words = line.slice(start.length);
    const isBlank = words.trim() === "" && quote === "";
    const indent = widthOf(white);
    const quotes = quote.split(">").length;
    // An item or a quote that ends takes its open fence along.
    if (fence !== null && !isBlank && (quotes < fence.quotes || indent < fence.indent)) fence = null;
    if (fence !== null) {
      wrapped.push(line);
      isAfterBlank = isEndOf(fence.mark, words);
      if (isAfterBlank) fence = null;
      continue;
    }
    if (isBlank) {
      wrapped.push(line);
      isAfterBlank = true;
      continue;
    }
    if (quotes !== quotesBefore) [items, isAfterBlank, isCode] = [[0], true, false];
    quotesBefore = quotes;
    // An item goes on in lines that are indented less, but only until a blank one.
    if (isAfterBlank || mark !== "") items = items.filter((at) => at <= indent);
    const item = items.at(-1) ?? 0;
    isCode = (isAfterBlank || isCode) && indent >= item + CODE_INDENT;
    isAfterBlank = /^#{1,6} /.test(words);
    const column = indent + widthOf(mark);
    if (mark !== "" && !isCode) items = [...items, column];
    const opened = isCode ? undefined : FENCE.exec(words)?.[1];
    if (opened !== undefined)
      fence = { mark: opened, quotes, indent: mark === "" ? Math.min(item, column) : column };
    const isKept = isCode || opened !== undefined || line.length <= WIDTH;
    const hang = `${quote}${white}${" ".repeat(mark.length)}`;
    wrapped.push(...(isKept ? [line] : brokenLine(words, start, hang)));
  }
  return wrapped.join("\n");
}

function isEndOf(mark: string, words: string): boolean {
  const end = words.trimEnd();
  return end.startsWith(mark) && end === mark.charAt(0).repeat(end.length);
}

function widthOf(white: string): number {
  return white.replaceAll("\t", " ".repeat(CODE_INDENT)).length;
}

/** As few lines as hold the words, the first one after `first` and each other one after `hang`. */
function brokenLine(words: string, first: string, hang: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const unit of unitsOf(words)) {
    const start = lines.length === 0 ? first : hang;
    if (line !== "" && start.length + line.length + 1 + unit.length > WIDTH) {
      lines.push(start + line);
      line = unit;
    } else line = line === "" ? unit : `${line} ${unit}`;
  }
  return [...lines, (lines.length === 0 ? first : hang) + line];
}

/** The words, each with the marks behind it. */
function unitsOf(words: string): string[] {
  const units: string[] = [];
  for (const word of words.split(" ").filter((each) => each !== "")) {
    const before = units.at(-1);
    if (before === undefined || before.length > MAX_UNIT || !MARK.test(word)) units.push(word);
    else units[units.length - 1] = `${before} ${word}`;
  }
  return units;
}
