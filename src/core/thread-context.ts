import type { NotifierAnswer } from "./notifier.ts";
import type { Request, Segment, ThreadContext, ThreadMessage } from "./request.ts";
import { startOf } from "./text.ts";

/** The most messages of a thread that go along: its first one and the newest others. */
export const THREAD_MAX_MESSAGES = 20;
/** The most characters of one of them that are kept. */
const MESSAGE_MAX_CHARS = 6_000;

/** What was said in a thread. */
export type ThreadRead = {
  /** Bounded as {@link newestOf} does it. */
  messages: ThreadMessage[];
  leftOut: number;
  /** The newest message that was looked at, also of those that are not among `messages`; null: there was none. */
  upTo: string | null;
  /** Slack stopped before the newest ones; `retryAfterMs`: it said when to come again. Null: they are all there. */
  stopped: { retryAfterMs: number | undefined } | null;
};

/** Reads threads. Never throws: faults are answers. */
export interface ThreadReader {
  /** What was said in a thread after a message (null: from its beginning) and before another, by their `ts`. Takes seconds at most. */
  read(
    thread: { teamId: string; channelId: string; threadTs: string },
    range: { after: string | null; before: string },
  ): Promise<NotifierAnswer<ThreadRead>>;
}

/** The newest of a thread's messages, oldest first, each of a bounded length; the thread's own first message stays in any case. */
export function newestOf(
  messages: readonly ThreadMessage[],
  threadTs: string,
): { messages: ThreadMessage[]; leftOut: number } {
  const sorted = messages.toSorted((a, b) => compareTs(a.ts, b.ts));
  const [first, ...others] = sorted;
  const root = first?.ts === threadTs ? [first] : [];
  const kept = (root.length === 0 ? sorted : others).slice(-(THREAD_MAX_MESSAGES - root.length));
  return {
    messages: [...root, ...kept].map((message) => ({
      ...message,
      segments: startOfSegments(message.segments, MESSAGE_MAX_CHARS),
    })),
    leftOut: sorted.length - root.length - kept.length,
  };
}

/** Negative: `a` is earlier. Slack's timestamps are of one length. */
export function compareTs(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function startOfSegments(segments: readonly Segment[], max: number): Segment[] {
  const kept: Segment[] = [];
  let left = max;
  for (const segment of segments) {
    if (left <= 0) break;
    const whole =
      ("text" in segment ? segment.text.length : 20) +
      ("url" in segment ? segment.url.length : 0) +
      ("label" in segment ? (segment.label ?? "").length : 0);
    if (whole > left && segment.kind !== "text") break;
    kept.push(segment.kind === "text" ? { ...segment, text: startOf(segment.text, left) } : segment);
    left -= whole;
  }
  return kept;
}

/** Whether the thread has to be read before the request can be sent. */
export function needsThread({ messageTs, threadTs, context }: Request): boolean {
  return messageTs !== undefined && threadTs !== null && messageTs !== threadTs && context === undefined;
}

/** The same request, to be made once more: a thread that couldn't be read is read then. */
export function askedAgain(request: Request): Request {
  const { context, ...rest } = request;
  return context?.upTo === undefined ? rest : request;
}

/** The newest message that whoever got this request has seen; null: none of a thread. */
export function seenUpTo({ messageTs, context }: Request): string | null {
  return (context === undefined ? messageTs : context.upTo) ?? null;
}

/** Without the messages that were withheld, or that are to be left out for another reason. */
export function without(
  context: ThreadContext,
  isLeftOut: (message: ThreadMessage) => boolean,
): ThreadContext {
  return { ...context, messages: context.messages.filter((message) => !isLeftOut(message)) };
}

/** What the thread says of what went along from it; empty: nothing is to be said. */
export function sharedText({ context }: Pick<Request, "context">): string {
  if (context === undefined) return "";
  if (context.upTo === undefined) return "I couldn't read the thread, so only your message was sent.";
  const { messages, leftOut, ofGuests = 0, isCutShort } = context;
  if (messages.length === 0 && ofGuests === 0 && isCutShort !== true) return "";
  const count = messages.length === 1 ? "1 message" : `${messages.length} messages`;
  const more = leftOut === 0 ? "" : `, ${leftOut} earlier left out`;
  const guests = ofGuests === 0 ? "" : `, ${ofGuests} by guests left out`;
  const stopped = isCutShort === true ? "; I couldn't read the newest ones" : "";
  return `With ${count} from this thread${more}${guests}${stopped}`;
}
