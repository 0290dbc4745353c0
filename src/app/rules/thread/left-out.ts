import { counted } from "../../../shared/text/text.ts";
import type { LeftOutPart, Request, ShownMessage } from "../turn/request.ts";

/** What a request quotes: beside its own words, a picked message, and of its thread. */
export type Quoting = Pick<Request, "beside" | "quoted" | "context">;

/** What guests and people of other organizations wrote or uploaded. */
export const GUEST_MESSAGE = "message by a guest";
export const GUEST_FILE = "file by a guest";

/** Adds to what is left out of a message. */
export function withLeftOut(
  leftOut: readonly LeftOutPart[] = [],
  what: string,
  count: number,
): LeftOutPart[] {
  const before = leftOut.find((part) => part.what === what)?.count ?? 0;
  return [...leftOut.filter((part) => part.what !== what), { what, count: before + count }];
}

/** The note on messages that the one that asked shows, or an empty string. */
export function besideText({ beside }: Pick<Request, "beside">): string {
  const { length } = (beside?.shows ?? []).filter(({ isFile }) => isFile !== true);
  if (length === 0) return "";
  return length === 1 ? "With the forwarded message" : `With ${counted(length, "forwarded message")}`;
}

/** The note on what couldn't be put into words, or an empty string. */
export function leftOutText({ beside, quoted, context }: Quoting): string {
  const messages = [...(beside === undefined ? [] : [beside]), ...(quoted === null ? [] : [quoted])];
  const all = messages.flatMap(({ shows = [] }) => shows);
  const own = [...messages, ...all.filter(({ isFile }) => isFile === true)];
  const shown = all.filter(({ isFile }) => isFile !== true);
  const parts = [
    ...leftOutLines(own, ""),
    ...leftOutLines(shown, shown.length === 1 ? " of the forwarded message" : " of forwarded messages"),
    ...leftOutLines(
      (context?.messages ?? []).flatMap((message) => [message, ...(message.shows ?? [])]),
      " of the thread",
    ),
  ];
  return parts.length === 0 ? "" : `Left out: ${parts.join(", ")}`;
}

/** What was left out of messages, each kind with its number: `2 images of the thread`. */
export function leftOutLines(messages: readonly Pick<ShownMessage, "leftOut">[], of: string): string[] {
  const counts = new Map<string, number>();
  for (const { what, count } of messages.flatMap(({ leftOut = [] }) => leftOut)) {
    counts.set(what, (counts.get(what) ?? 0) + count);
  }
  return [...counts].map(([what, count]) => `${named(what, count)}${of}`);
}

const ENDING = / ending$/;

function named(what: string, count: number): string {
  if (what === GUEST_MESSAGE) return counted(count, what, "messages by guests");
  if (what === GUEST_FILE) return counted(count, what, "files by guests");
  const whole = what.replace(ENDING, "");
  if (whole === what) return counted(count, what);
  return count === 1 ? `the end of the ${whole}` : `the ends of ${counted(count, whole)}`;
}
