import { z } from "zod";
import type { NotifierAnswer } from "../ports/notifier.ts";
import { isReply } from "../turn/request.ts";
import type {
  Request,
  Segment,
  ShownMessage,
  ThreadContext,
  ThreadMessage,
  SharedFile,
} from "../turn/request.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { counted, startOf } from "../../../shared/text/text.ts";
import { sentFilesNotes } from "./files.ts";
import { besideText, GUEST_FILE, leftOutText, type Quoting, withLeftOut } from "./left-out.ts";
import type { Turn } from "../turn/turn.ts";

/** The most messages of a thread that go along: its first one and the newest others. */
export const THREAD_MAX_MESSAGES = 20;
/** The most characters kept of one message, and of all together. */
const MESSAGE_MAX_CHARS = 4_000;
const TOTAL_MAX_CHARS = 12_000;

/**
 * Where to continue the search for a long thread's newest messages, in seconds of Slack's time.
 * After `cutAt` there is more than one page of messages. After `fewAt` there are too few; it is
 * null if no such time is known.
 */
export const ThreadPosition = storedObject({
  from: z.number(),
  cutAt: z.number(),
  fewAt: z.number().nullable(),
});
export type ThreadPosition = z.infer<typeof ThreadPosition>;

/** The messages read from a thread. */
export type ThreadRead = {
  /** Bounded as {@link newestOf} does it. */
  messages: ThreadMessage[];
  leftOut: number;
  /** True if there are earlier messages that Slack wasn't asked for and nobody has counted. */
  hasEarlier: boolean;
  /**
   * The `ts` of the newest message that was read, even if `messages` leaves it out. Null if there
   * was none.
   */
  upTo: string | null;
  /**
   * Null if the newest messages are included. Otherwise Slack stopped before them, and
   * `retryAfterMs` is the wait it asked for.
   */
  stopped: { retryAfterMs: number | undefined; position: ThreadPosition } | null;
};

/** Reads threads. Never throws: faults are returned. */
export interface ThreadReader {
  /**
   * Reads a thread's newest messages between two of them, by their `ts`. The first may be null, for
   * the thread's beginning. `position` continues an earlier read. Takes seconds at most.
   */
  read(
    thread: { channelId: string; threadTs: string },
    range: { after: string | null; before: string; position?: ThreadPosition | undefined },
  ): Promise<NotifierAnswer<ThreadRead>>;
}

/** Reads single messages. Never throws: faults are returned. */
export interface MessageReader {
  /** Reads what stands in a person's message besides its words. Takes seconds at most. */
  read(message: {
    channelId: string;
    threadTs: string;
    ts: string;
  }): Promise<NotifierAnswer<Pick<Request, "files" | "beside">>>;
}

/** What goes along of a thread that was read. It covers messages up to the one at `upTo`. */
export function contextOf(
  { messages, leftOut, hasEarlier, stopped }: ThreadRead,
  upTo: string,
  withheld: readonly string[],
): ThreadContext {
  return {
    messages,
    leftOut,
    ...(hasEarlier && { hasEarlier }),
    upTo,
    ...(withheld.length > 0 && { withheld: [...withheld] }),
    ...(stopped !== null && { isCutShort: true }),
  };
}

/**
 * Picks a thread's newest messages, oldest first, and shortens each. The thread's first message
 * always stays.
 */
export function newestOf(
  messages: readonly ThreadMessage[],
  threadTs: string,
): { messages: ThreadMessage[]; leftOut: number } {
  const sorted = messages.toSorted((a, b) => compareTs(a.ts, b.ts));
  const [first, ...others] = sorted;
  const root = first?.ts === threadTs ? [first] : [];
  const newest = (root.length === 0 ? sorted : others).slice(-(THREAD_MAX_MESSAGES - root.length));
  const kept: ThreadMessage[] = [];
  let left = TOTAL_MAX_CHARS;
  for (const message of newest.toReversed().map(shortened)) {
    left -= charsOf(allSegments(message));
    if (left < 0) break;
    kept.unshift(message);
  }
  return { messages: [...root.map(shortened), ...kept], leftOut: sorted.length - root.length - kept.length };
}

/** The beginning of a message and of those it shows. What is cut off is counted. */
function shortened(message: ThreadMessage): ThreadMessage {
  let left = MESSAGE_MAX_CHARS;
  const shorten = <T extends Words>(part: T): T => {
    const segments = startOfSegments(part.segments, left);
    const cut = charsOf(part.segments) - charsOf(segments);
    left = Math.max(0, left - charsOf(part.segments));
    return cut === 0 ? part : { ...part, segments, leftOut: withLeftOut(part.leftOut, "character", cut) };
  };
  const own = shorten(message);
  return message.shows === undefined ? own : { ...own, shows: message.shows.map(shorten) };
}

type Words = Pick<ShownMessage, "segments" | "leftOut">;

function charsOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + lengthOf(segment), 0);
}

/** Changes the words of a message and of the messages it shows. */
export function withSegments<T extends Pick<ThreadMessage, "segments" | "shows">>(
  message: T,
  change: (segments: readonly Segment[]) => Segment[],
): T {
  const shows = message.shows?.map((shown) => ({ ...shown, segments: change(shown.segments) }));
  return { ...message, segments: change(message.segments), ...(shows && { shows }) };
}

/** The words of a message and of the messages it shows. */
export function allSegments({ segments, shows = [] }: Pick<ThreadMessage, "segments" | "shows">): Segment[] {
  const parts = [segments, ...shows.map((shown) => shown.segments)].filter(({ length }) => length > 0);
  return parts.flatMap((part, n) => (n === 0 ? part : [LINE_END, ...part]));
}

const LINE_END: Segment = { kind: "text", text: "\n" };

/** Compares Slack timestamps, which all have the same length. Negative if `a` is earlier. */
export function compareTs(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function startOfSegments(segments: readonly Segment[], max: number): Segment[] {
  const kept: Segment[] = [];
  let left = max;
  for (const segment of segments) {
    if (left <= 0) break;
    const whole = lengthOf(segment);
    if (whole > left && segment.kind !== "text") break;
    kept.push(segment.kind === "text" ? { ...segment, text: startOf(segment.text, left) } : segment);
    left -= whole;
  }
  return kept;
}

function lengthOf(segment: Segment): number {
  if (segment.kind === "text") return segment.text.length;
  return 20 + ("url" in segment ? segment.url.length : 0) + (segment.label ?? "").length;
}

/** True if the thread has to be read before the request can be sent. */
export function needsThread({ messageTs, threadTs, context }: Request): boolean {
  return messageTs !== undefined && isReply(threadTs, messageTs) && context === undefined;
}

/** The same request for another try. If its thread couldn't be read, it will be read again. */
export function askedAgain(request: Request): Request {
  const { context, ...rest } = request;
  return context?.upTo === undefined ? rest : request;
}

/**
 * The newest message that the agent has seen with this request, or null if it saw none of a thread.
 */
export function seenUpTo({ messageTs, context }: Request): string | null {
  return (context === undefined ? messageTs : context.upTo) ?? null;
}

type IsLeftOut = (message: Pick<ShownMessage, "ts" | "authorId">) => boolean;

/**
 * Returns a test for messages that somebody chose not to share. A message without a `ts` could be
 * any of them, so it counts as one.
 */
export function withheldAmong(withheld: readonly string[]): (message: { ts: string }) => boolean {
  const known = new Set(withheld);
  return ({ ts }) => known.has(ts) || (ts === "" && known.size > 0);
}

/** Removes messages from a thread's context, including where other messages show them. */
export function without(context: ThreadContext, isLeftOut: IsLeftOut): ThreadContext {
  const messages = context.messages.filter((message) => !isLeftOut(message));
  return { ...context, messages: messages.map((message) => withoutShown(message, isLeftOut)) };
}

/** Removes some of the messages that a message shows, and those that stand in them. */
export function withoutShown<T extends Pick<ThreadMessage, "shows">>(message: T, isLeftOut: IsLeftOut): T {
  if (message.shows === undefined) return message;
  const shows = message.shows.filter((shown) => ![shown, ...(shown.within ?? [])].some(isLeftOut));
  return { ...message, shows };
}

/**
 * Removes the messages that somebody chose not to share from a request. Forms may be older than
 * that choice, and other messages may show them. A person who picks such a message directly may
 * still share it.
 */
export function withoutWithheld(request: Request, withheld: readonly string[]): Request {
  const { quoted, context, beside } = request;
  const isWithheld = withheldAmong(withheld.filter((ts) => ts !== quoted?.ts));
  return {
    ...request,
    quoted: quoted === null ? null : withoutShown(quoted, isWithheld),
    ...(beside === undefined ? {} : { beside: withoutShown(beside, isWithheld) }),
    ...(context === undefined ? {} : { context: without(context, isWithheld) }),
  };
}

/** The thread's notes on what was sent to the agent besides the request itself. */
export function sharedTexts(turn: Pick<Turn, "request" | "files">): string[] {
  const files = turn.files === undefined ? [] : sentFilesNotes(turn.files);
  const { request } = turn;
  return [besideText(request), sharedText(request), ...files, leftOutText(request)].filter(
    (text) => text !== "",
  );
}

/** The note on thread messages that went along, or an empty string. */
function sharedText({ context, quoted }: Pick<Request, "context" | "quoted">): string {
  if (context === undefined) return "";
  if (context.upTo === undefined) return "I couldn't read the thread, so only your message was sent.";
  const { messages, leftOut, hasEarlier, ofGuests = 0, isCutShort } = context;
  // A form's own message alone needs no note.
  const isAlone = messages.length === 0;
  const shared = messages.length + (quoted === null ? 0 : 1);
  const earlier = hasEarlier === true ? "earlier ones" : leftOut > 0 && `${leftOut} earlier`;
  const parts = [
    !isAlone && `With ${counted(shared, "message")} from this thread`,
    !isAlone && earlier !== false && `${earlier} left out`,
    ofGuests > 0 && (isAlone ? `Messages by guests left out: ${ofGuests}` : `${ofGuests} by guests left out`),
    isCutShort === true && "I couldn't read the newest ones",
  ];
  return parts.filter((part) => part !== false).join(", ");
}

/** The most files of one request that are considered. It is more than any service accepts. */
const FILES_MAX = 20;

/**
 * The files of all messages that go along, in order of importance: the message that asked, what it
 * shows, the picked one, then the thread's newest first.
 */
export function filesOf(request: Quoting & Pick<Request, "files">): SharedFile[] {
  const { files = [], beside, quoted, context } = request;
  const quoting = [beside, quoted, ...(context?.messages ?? []).toReversed()];
  const all = [...files, ...quoting.flatMap((message) => (message ? filesOfMessage(message) : []))];
  const byId = new Map(all.map((file) => [file.id, file]));
  return [...byId.values()].slice(0, FILES_MAX);
}

function filesOfMessage({ files = [], shows = [] }: Pick<ThreadMessage, "files" | "shows">): SharedFile[] {
  return [...files, ...shows.flatMap((shown) => shown.files ?? [])];
}

/**
 * Adds to a request or a draft what Slack has told of its files since. Those that are null are
 * counted as left out.
 */
export function withKnownFiles<T extends Pick<Request, "files" | "quoted" | "beside" | "context">>(
  request: T,
  known: ReadonlyMap<string, SharedFile | null>,
): T {
  if (known.size === 0) return request;
  const knownOf = <P extends Pick<ThreadMessage, "files" | "leftOut">>(part: P): P => {
    if (part.files === undefined) return part;
    const kept = part.files.filter(({ id }) => known.get(id) !== null);
    const files = kept.map((file) => known.get(file.id) ?? file);
    const count = part.files.length - kept.length;
    return { ...part, files, ...(count > 0 && { leftOut: withLeftOut(part.leftOut, GUEST_FILE, count) }) };
  };
  const ofMessage = <M extends ThreadMessage>(message: M): M => {
    const { shows } = message;
    return { ...knownOf(message), ...(shows && { shows: shows.map(knownOf) }) };
  };
  const { quoted, context } = request;
  const { files, leftOut } = knownOf<Pick<ThreadMessage, "files" | "leftOut">>({ files: request.files });
  const bare = { ts: "", authorId: null, authorName: null, segments: [] };
  const beside =
    leftOut === undefined
      ? request.beside
      : { ...bare, ...request.beside, leftOut: [...(request.beside?.leftOut ?? []), ...leftOut] };
  return {
    ...request,
    ...(files && { files }),
    quoted: quoted === null ? null : ofMessage(quoted),
    ...(beside && { beside: ofMessage(beside) }),
    ...(context && { context: { ...context, messages: context.messages.map(ofMessage) } }),
  };
}
