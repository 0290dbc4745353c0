import { parse, postprocess, preprocess } from "micromark";
import { gfm } from "micromark-extension-gfm";
import { mdxjs } from "micromark-extension-mdxjs";

/** A part of a text that Markdown's grammar names. `from` and `to` are offsets in the text. */
export type Part = { type: string; from: number; to: number };
/** Why a page of MDX can't be read, in the parser's words. `at` is an offset. */
type Unreadable = { at: number; reason: string };

const COMMON = gfm();
const MDX = mdxjs();
/** They may hold other parts. */
type Tokens = { enters: Part[]; fault: Unreadable | null };

/**
 * The parts of a text from `start` on, in the order in which they begin. With MDX that can't be
 * read, they are those of Markdown.
 */
export function partsOf(text: string, start: number, isMdx: boolean): Tokens {
  const body = text.slice(start);
  if (!isMdx) return { enters: read(body, start, false), fault: null };
  try {
    return { enters: read(body, start, true), fault: null };
  } catch (error) {
    return { enters: read(body, start, false), fault: unreadable(error, start) };
  }
}

function read(body: string, start: number, isMdx: boolean): Part[] {
  const extensions = isMdx ? [COMMON, MDX] : [COMMON];
  const events = postprocess(
    parse({ extensions })
      .document()
      .write(preprocess()(body, null, true)),
  );
  return events.flatMap(([kind, token]) =>
    kind === "enter"
      ? [{ type: token.type, from: start + token.start.offset, to: start + token.end.offset }]
      : [],
  );
}

/** The parser throws messages with a place and a reason. */
function unreadable(error: unknown, start: number): Unreadable {
  const { reason, place }: { reason?: unknown; place?: unknown } = Object(error);
  const point: { offset?: unknown; start?: { offset?: unknown } } = Object(place);
  const offset = point.offset ?? point.start?.offset;
  return {
    at: start + (typeof offset === "number" ? offset : 0),
    reason: typeof reason === "string" ? reason : "It can't be read.",
  };
}
