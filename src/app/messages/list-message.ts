import type { ActionsBlock, KnownBlock, RichTextElement } from "@slack/types";
import type { Contact } from "../rules/ports/job-service.ts";
import { LIST_PAGE_SIZE, isDirect, openedAt } from "../rules/thread/request-list.ts";
import type { ListPage, ListedTurn, RequestCounts, Overview } from "../rules/thread/request-list.ts";
import { unnamedText } from "../rules/words/readable-text.ts";
import { isUntyped, type Request, type Segment, type ThreadMessage } from "../rules/turn/request.ts";
import { allSegments } from "../rules/thread/messages-to-share.ts";
import { statusText } from "../rules/words/status-text.ts";
import { waitsFor } from "../rules/words/pull-request-text.ts";
import { counted, cut, formatAgo, lineOfWords } from "../../shared/text/text.ts";
import { isTriedAgain, turnPrLink } from "../rules/turn/turn.ts";
import { ACTIONS, listValue } from "./actions.ts";
import {
  actions,
  context,
  labeled,
  linePart,
  paragraph,
  richText,
  section,
  words,
  NAME_MAX,
  type Rendered,
  type View,
} from "./blocks.ts";
import { cutEscaped, dateAndTime, timeOfDay } from "./mrkdwn.ts";
import { pullRequestLink } from "./links.ts";

/** The most characters of a request and of its state in a list. */
const WORDS_MAX = 60;
const STATE_LINE_MAX = 100;

/** Said where requests may be missing. */
export const PARTIAL = "Slack didn't tell me all the channels you're in, so some requests may be missing.";
const HIDING = "Requests in channels that you or I have left aren't listed.";

/** A page of requests that a person may see. */
export function listMessage(page: ListPage, view: View): Rendered {
  const { of, turns, from, hasOlder, isPartial, isHiding, isOpen = false, now } = page;
  const [title, empty] = !isOpen
    ? of === "person"
      ? ["Your requests", "You have no recent requests."]
      : ["Requests in this channel", "No recent requests in this channel."]
    : ["Open pull requests", "I don't know of any open pull requests of yours or in this channel."];
  const note = isPartial ? [context([PARTIAL])] : isHiding ? [context([HIDING])] : [];
  if (turns.length === 0) {
    const text = isPartial || isHiding ? "I found no requests to list." : empty;
    return paragraph(text, ...note);
  }
  const number = from / LIST_PAGE_SIZE + 1;
  return {
    text: title,
    blocks: [
      section(number === 1 ? `*${title}*` : `*${title}*, page ${number}`),
      ...turns.map((listed) => (isOpen ? openRow(listed, view, now) : listRow(listed, view, { of, now }))),
      ...note,
      ...pages(page, hasOlder),
    ],
  };
}

/**
 * The request's first words as a link to its thread, its state, its pull request, and where or who,
 * and when: one line.
 */
export function listRow(
  { turn, url, first = turn, followUps = 0 }: ListedTurn,
  view: View,
  { of, now }: Pick<ListPage, "of" | "now">,
): KnownBlock {
  const { request } = first;
  const pr = pullRequestLink(turnPrLink(turn), view.httpOrigins);
  const own = lineOfWords(statusText(turn, { watchedFor: view.watchedFor, pr: null }), STATE_LINE_MAX);
  const { channelId } = first.delivery;
  const place: RichTextElement =
    of === "channel"
      ? { type: "user", user_id: request.userId }
      : isDirect(channelId)
        ? words("direct message")
        : { type: "channel", channel_id: channelId };
  const parts: RichTextElement[] = [
    { ...linked(wordsOf(request), url), style: { bold: true } },
    ...(followUps === 0 ? [] : [words(counted(followUps, "follow-up"))]),
    words(isTriedAgain(turn) ? "🔁 Tried again" : own),
    ...(pr === null ? [] : [linked(cut(pr.label, NAME_MAX), pr.url)]),
    place,
    words(formatAgo(Math.max(0, now - turn.request.receivedAt))),
  ];
  return richText(linePart(...parts.flatMap((part, n) => (n === 0 ? [part] : [words(" · "), part]))));
}

/** A text that is a link if there is an address. */
function linked(text: string, url: string | null): RichTextElement {
  return url === null ? words(text) : { type: "link", url, text };
}

/** A pull request, its title as a link to its thread, its age, and whose turn it is. */
export function openRow({ turn, url }: ListedTurn, view: View, now: number): KnownBlock {
  const { pullRequest, request } = turn;
  if (pullRequest === undefined) return listRow({ turn, url }, view, { of: "channel", now });
  const pr = pullRequestLink(pullRequest.url, view.httpOrigins);
  const title = lineOfWords(withoutMarks(pullRequest.latest.title ?? ""), WORDS_MAX) || wordsOf(request);
  const opened = `opened ${formatAgo(now - openedAt(turn))}`;
  const age = opened.replace(/^opened (.*) ago$/, "open for $1");
  const { text, isRequesters } = waitsFor(pullRequest);
  return richText(
    linePart(
      ...(pr === null ? [] : [linked(cut(pr.label, NAME_MAX), pr.url), words(" ")]),
      linked(title, url),
      words(`, ${age}, ${cut(text, STATE_LINE_MAX)}`),
      ...(isRequesters ? [{ type: "user" as const, user_id: request.userId }] : []),
    ),
  );
}

/**
 * The beginning of the person's words or, if they kept the form's suggestion, of the message they
 * picked.
 */
function wordsOf(request: Request): string {
  const { instructions, quoted, beside } = request;
  const about = isUntyped(request) ? unnamedText(aboutOf(quoted ?? beside)) : "";
  const message = lineOfWords(withoutMarks(about), WORDS_MAX);
  return message === "" ? lineOfWords(withoutMarks(instructions), WORDS_MAX) || "…" : `“${message}”`;
}

/** A list shows no code, so its marks would only be in the way. */
function withoutMarks(text: string): string {
  return text.replaceAll("`", "");
}

function aboutOf(message: ThreadMessage | undefined): Segment[] {
  return message === undefined ? [] : allSegments(message);
}

function pages({ of, from, isOpen = false }: ListPage, hasOlder: boolean): ActionsBlock[] {
  const list = { of, ...(isOpen && { isOpen }) };
  // The next page of open pull requests has the newer ones.
  const [before, after] = isOpen ? ["Older", "Newer"] : ["Newer", "Older"];
  const button = (id: string, text: string, at: number) =>
    labeled(id, text, listValue.write({ ...list, from: Math.max(0, at) }));
  return actions([
    ...(from === 0 ? [] : [button(ACTIONS.listNewer, before, from - LIST_PAGE_SIZE)]),
    ...(hasOlder ? [button(ACTIONS.listOlder, after, from + LIST_PAGE_SIZE)] : []),
  ]);
}

/** The state of a person's requests, and whether the agent can be reached. */
export function overviewMessage(overview: Overview, view: View): Rendered {
  const { own, channel, contacts, trouble, isPartial } = overview;
  const lines = [
    own === null ? "You have no recent requests." : `Your requests: ${countsText(own)}`,
    ...(channel === null ? [] : [`This channel: ${countsText(channel)}`]),
    ...contactLines(contacts, view),
  ];
  return {
    text: lines[0] ?? "",
    blocks: [
      section(lines.join("\n")),
      ...(trouble === null
        ? []
        : [
            section(`Latest failure (${timeOfDay(trouble.at)}):`),
            listRow(trouble, view, { of: "person", now: trouble.now }),
          ]),
      ...(isPartial ? [context([PARTIAL])] : []),
    ],
  };
}

function countsText({ running, waiting }: RequestCounts): string {
  return `${running} running, ${waiting} waiting.`;
}

function contactLines(contacts: readonly Contact[], { projects }: View): string[] {
  const down = contacts.filter(({ isUp }) => !isUp);
  if (down.length > 0) {
    return down.map(({ project, since }) => {
      const name = projects.length > 1 ? ` for ${cutEscaped(project.name, NAME_MAX)}` : "";
      return (
        `⚠️ The agent${name} hasn't answered since ${dateAndTime(since)}. Waiting requests start ` +
        "when it's back."
      );
    });
  }
  const lastMs = Math.max(...contacts.map(({ at }) => at));
  return contacts.length === 0 ? [] : [`✅ The agent last answered ${dateAndTime(lastMs)}.`];
}
