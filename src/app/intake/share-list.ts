import type { KnownBlock, MrkdwnOption } from "@slack/types";
import type { Draft } from "../rules/records.ts";
import type { QuotedMessage, ThreadContext, ThreadMessage } from "../rules/turn/request.ts";
import { formFilesNotes } from "../rules/thread/files.ts";
import {
  filesOf,
  allSegments,
  compareTs,
  withheldAmong,
  without,
  withoutShown,
} from "../rules/thread/messages-to-share.ts";
import { leftOutText } from "../rules/thread/left-out.ts";
import { unnamedText } from "../rules/words/readable-text.ts";
import { plainLine, utcTimeOfDay } from "../../shared/text/text.ts";
import { context, unstyled } from "../messages/blocks.ts";
import { cutEscaped } from "../messages/mrkdwn.ts";

/**
 * The list's inputs. Slack allows ten checkboxes in each
 * (docs.slack.dev/reference/block-kit/block-elements/checkboxes-element).
 */
const SHARE = "share";
const GROUP_SIZE = 10;
/**
 * Limit of an option's text, and of its description
 * (docs.slack.dev/reference/block-kit/composition-objects/option-object).
 */
const OPTION_MAX_CHARS = 75;

/** The next note says what the agent will see. */
const UNREAD = "Reading the thread… If you send the form now, nothing else of it goes along.";

/**
 * Lists the messages that would leave Slack with the form, all ticked, and says who sees them and
 * what is left out.
 */
export function shareList(draft: Draft): KnownBlock[] {
  const { quoted, context: thread, isThreadUnread, takesFiles, quotesWordsOnly } = draft;
  if (quoted === null) return [];
  // The form already shows a message that is alone.
  const listed = isThreadUnread === true || isAlone(draft) ? [] : listedOf(quoted, thread);
  const groups = Array.from({ length: Math.ceil(listed.length / GROUP_SIZE) }, (_, n) =>
    listed.slice(n * GROUP_SIZE, (n + 1) * GROUP_SIZE).map(optionOf),
  );
  const seen = listed.length === 0 ? "the message above" : "what you share";
  const published =
    quotesWordsOnly === true
      ? ". The pull request quotes only your own words, and names you only in a private repository."
      : ", and the pull request may quote it.";
  const notes = [
    ...(isThreadUnread === true ? [UNREAD] : []),
    `The agent will see ${seen}${published}`,
    ...notesOn(thread),
    // Files go along with their messages. Until the service has answered, we don't know if it
    // accepts any.
    ...formFilesNotes(filesOf({ quoted, context: thread }), takesFiles ?? true),
    ...[leftOutText({ quoted, context: thread })].filter((text) => text !== ""),
  ];
  return [
    ...groups.map((options, n): KnownBlock => ({
      type: "input",
      block_id: `${SHARE}_${n}`,
      optional: true,
      label: unstyled(n === 0 ? "Messages to share" : "More messages to share"),
      ...(n === groups.length - 1 ? { hint: unstyled("Uncheck what you don't want to share.") } : {}),
      element: { type: "checkboxes", action_id: SHARE, options, initial_options: options },
    })),
    context(notes),
  ];
}

/**
 * The part of a draft that goes along with a submitted form: what it showed and was left ticked.
 */
export function sharedOf(draft: Draft, values: TickedValues): Pick<Draft, "quoted" | "context"> {
  const { quoted, context: thread } = draft;
  if (quoted === null) return { quoted };
  const ticked = isAlone(draft) ? new Set<string | undefined>([quoted.ts]) : tickedIn(values);
  // Only the message was shown, never the list.
  if (ticked === null) return { quoted, ...(thread === undefined ? {} : { context: thread }) };
  const listed = listedOf(quoted, thread);
  const unticked = listed.filter(({ ts }) => !ticked.has(ts)).map(({ ts }) => ts);
  const withheld = [...(thread?.withheld ?? []), ...unticked];
  const messages = (thread?.messages ?? []).filter(({ ts }) => ticked.has(ts));
  const isWithheld = withheldAmong(withheld);
  const context = {
    leftOut: 0,
    upTo: quoted.ts,
    ...thread,
    messages,
    ...(withheld.length === 0 ? {} : { withheld }),
  };
  return {
    quoted: ticked.has(quoted.ts) ? withoutShown(quoted, isWithheld) : null,
    context: without(context, isWithheld),
  };
}

/** The ticks of a form's checkboxes, by block and action. */
export type TickedValues = Record<
  string,
  Record<string, { selected_options?: { value?: string | undefined }[] | null | undefined }>
>;

/** The timestamps of ticked messages, or null if there are no checkboxes. */
function tickedIn(values: TickedValues): Set<string | undefined> | null {
  const groups = Object.entries(values).flatMap(([block, { [SHARE]: group }]) =>
    block.startsWith(`${SHARE}_`) && group !== undefined ? [group.selected_options ?? []] : [],
  );
  return groups.length === 0 ? null : new Set(groups.flat().map(({ value }) => value));
}

/** True if there is no other message to choose from. */
function isAlone({ context: thread, isThreadUnread }: Draft): boolean {
  return isThreadUnread !== true && (thread === undefined || thread.messages.length === 0);
}

function listedOf(quoted: QuotedMessage, thread: ThreadContext | undefined): ThreadMessage[] {
  return [...(thread?.messages ?? []), quoted].toSorted((a, b) => compareTs(a.ts, b.ts));
}

/** Author and time as Slack shows them to the reader, and the words as plain text. */
function optionOf(message: ThreadMessage): MrkdwnOption {
  const { ts, authorId, authorName } = message;
  const author = authorId === null ? cutEscaped(authorName || "An app", 16) : `<@${authorId}>`;
  const seconds = Math.floor(Number(ts));
  const words = plainLine(unnamedText(allSegments(message), "someone"), OPTION_MAX_CHARS);
  return {
    // An app's name may look like a link or a channel.
    text: {
      type: "mrkdwn",
      text: `${author}, <!date^${seconds}^{date_short} {time}|${utcTimeOfDay(seconds * 1000)}>`,
      verbatim: true,
    },
    description: unstyled(words === "" ? "This message has no text." : words),
    value: ts,
  };
}

function notesOn(thread: ThreadContext | undefined): string[] {
  if (thread === undefined) return [];
  if (thread.upTo === undefined) return ["I couldn't read the thread, so it isn't shared."];
  const { leftOut, hasEarlier, ofGuests = 0, isCutShort, withheld = [] } = thread;
  return [
    ...(leftOut === 0 && hasEarlier !== true
      ? []
      : [`Not shared: ${hasEarlier === true ? "earlier messages" : `${leftOut} earlier`}`]),
    ...(ofGuests === 0 ? [] : [`Not shared: ${ofGuests} by guests`]),
    ...(withheld.length === 0 ? [] : [`Not shared: ${withheld.length} unchecked before`]),
    ...(isCutShort === true ? ["I couldn't read the newest messages."] : []),
  ];
}
