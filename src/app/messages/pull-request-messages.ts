import type { Button, KnownBlock, RichTextBlock, RichTextSection } from "@slack/types";
import type { MessageOf } from "../rules/ports/notifier.ts";
import { diffFileName, diffLines, diffText, fileLines, sizeOf } from "../rules/words/change-text.ts";
import { changedWords, type PageWords } from "../rules/words/changed-words.ts";
import { newsText } from "../rules/words/pull-request-text.ts";
import { actButton, type ActNews } from "../rules/thread/acting.ts";
import { mentionedIn } from "../rules/thread/people.ts";
import type { ThreadNews } from "../rules/turn/pull-request-news.ts";
import { counted, cut } from "../../shared/text/text.ts";
import { type Turn, turnPrLink } from "../rules/turn/turn.ts";
import { ACTIONS, actValue } from "./actions.ts";
import {
  actions,
  codePart,
  labeled,
  linePart,
  listPart,
  NAME_MAX,
  paragraph,
  quotePart,
  quoteText,
  richText,
  type Rendered,
  SAID_MAX,
  section,
  STATE_MAX,
  type View,
  words,
} from "./blocks.ts";
import { movedBlocks, pullRequestLink } from "./links.ts";
import { cutEscaped, escapeMrkdwn } from "./mrkdwn.ts";
import { ROUNDS_ARE_OVER } from "./short-answers.ts";

/**
 * Tells what became of a turn's pull request. It is rich text, so that nothing in it is markup:
 * names and words come from whoever can write at the code host.
 */
export function newsMessage(
  { turn, news, url, offer, movedBecause, muted = [] }: MessageOf<"news">,
  view: View,
): Rendered {
  const { symbol, isForAll, before, after, quotes, unquoted } = newsText(news);
  const remarks = [
    ...(unquoted === 0 ? [] : [`… and ${unquoted} more`]),
    ...(offer === "no-rounds" ? [ROUNDS_ARE_OVER] : []),
  ];
  const isAskOnly = view.isAskOnly(turn.delivery.channelId);
  const link = pullRequestLink(url, view.httpOrigins);
  const unnamed = before === "" ? "The pull request" : "the pull request";
  const people = isForAll ? mentionedIn(turn, muted) : [];
  const block = richText(
    linePart(
      words(`${symbol} `),
      ...people.flatMap((userId) => [{ type: "user" as const, user_id: userId }, words(" ")]),
      ...(before === "" ? [] : [words(before)]),
      link === null ? words(unnamed) : { type: "link", url: link.url, text: link.label },
      words(after),
    ),
    ...quotes.flatMap(({ from, words: said, url: more }) => [
      ...(from === null ? [] : [linePart(words(from, { bold: true }))]),
      ...(said === "" ? [] : [quotePart(words(said))]),
      ...linkToCheck(more, view),
    ]),
    ...remarks.map((text) => linePart(words(text))),
  );
  const mentions = people.map((userId) => `<@${userId}> `).join("");
  const headline = cutEscaped(`${before}${link?.label ?? unnamed}${after}`, STATE_MAX);
  return {
    text: [
      `${symbol} ${mentions}${headline}`,
      ...quotes.map((quote) => cutEscaped([quote.from, quote.words].filter(Boolean).join(": "), SAID_MAX)),
      ...remarks,
    ].join("\n"),
    blocks: [
      ...movedBlocks(turn.request, movedBecause, view),
      block,
      ...actions(offer === "act" && !isAskOnly ? newsButtons(turn, news) : []),
    ],
  };
}

/** The button of each kind of news that the agent can do something about: action id and label. */
export const NEWS_BUTTONS = {
  "changes-requested": [ACTIONS.makeChanges, "Make these changes"],
  "checks-failed": [ACTIONS.fixChecks, "Let the agent fix it"],
  conflicts: [ACTIONS.updatePullRequest, "Update it"],
} as const satisfies Record<ActNews, readonly [string, string]>;

function newsButtons(turn: Turn, news: ThreadNews): Button[] {
  const button = actButton(turn, news);
  if (button === null) return [];
  const [actionId, label] = NEWS_BUTTONS[button.of];
  return [labeled(actionId, label, actValue.write(button))];
}

/** A line that leads to a check's page, if its address can be trusted as a pull request's can. */
function linkToCheck(address: string | null, { httpOrigins }: View): RichTextSection[] {
  const link = pullRequestLink(address, httpOrigins);
  return link === null ? [] : [linePart({ type: "link", url: link.url, text: "See the check" })];
}

/** Shows what a job changes, or says why that can't be shown. */
export function changesMessage({ turn, of }: MessageOf<"changes">, { httpOrigins, contact }: View): Rendered {
  const pr = linkTo(turn, httpOrigins);
  switch (of.kind) {
    case "reading":
      return paragraph("⏳ Reading the changes…");
    case "gone":
      return paragraph(`The agent no longer has this change.${pr === null ? "" : ` Look at ${pr}.`}`);
    case "unreadable":
      return paragraph(`I couldn't read the changes. Try again in a minute, or contact ${contact}.`);
    case "read": {
      const { diff, rest } = of;
      const size = diffText(sizeOf(diff));
      const title = pr === null ? `*Changes:* ${size}` : `*Changes in ${pr}:* ${size}`;
      const { pages, more } = changedWords(diff);
      const where = `The rest is on ${pr === null ? "the branch" : `the page of ${pr}`}.`;
      const sent = `I sent you the raw change as \`${diffFileName(turnPrLink(turn))}\` in a direct message.`;
      const isWithWords = pages.length > 0;
      return {
        text: title,
        blocks: [
          section(title),
          ...(isWithWords ? [richText(...pages.flatMap(pageParts), ...moreParts(more, "page"))] : []),
          ...(isWithWords ? [] : [preformatted(fileLines(diff))]),
          ...(rest === "file" && isWithWords ? [] : [preformatted(diffLines(diff))]),
          ...(rest === "page" ? [section(where)] : []),
          ...(rest === "file" ? [section(diff.isCut ? `${sent} ${where}` : sent)] : []),
        ].filter((block) => block !== null),
      };
    }
  }
}

/** A page's name, and its changed words under their headings. */
function pageParts({ path, note, parts, more }: PageWords): RichTextBlock["elements"] {
  const name = linePart(words(path, { bold: true }), ...(note === null ? [] : [words(`: ${note}`)]));
  return [
    name,
    ...parts.flatMap(({ heading, lines }) => [
      ...(heading === null ? [] : [linePart(words(heading))]),
      listPart("bullet", lines),
    ]),
    ...moreParts(more, "change"),
  ];
}

function moreParts(more: number, one: "page" | "change"): RichTextBlock["elements"] {
  return more <= 0 ? [] : [linePart(words(`… and ${counted(more, `more ${one}`)}`))];
}

/** Says which pull request the file beside it belongs to. */
export function rawChangeMessage({ turn }: MessageOf<"raw-change">, { httpOrigins }: View): Rendered {
  const pr = linkTo(turn, httpOrigins);
  return paragraph(pr === null ? "The raw change." : `The raw change in ${pr}.`);
}

/** Says why a pull request wasn't closed. */
export function notClosedMessage({ turn, said }: MessageOf<"not-closed">, { httpOrigins }: View): Rendered {
  const pr = linkTo(turn, httpOrigins) ?? "the pull request";
  if (said === null) return paragraph(`I couldn't close ${pr}. Try again, or close it on its page.`);
  return paragraph(`I left ${pr} as it is:`, quoteText(cut(said, SAID_MAX)));
}

/** The turn's pull request in mrkdwn, or null if there is no link that can be trusted. */
function linkTo(turn: Turn, httpOrigins: View["httpOrigins"]): string | null {
  const link = pullRequestLink(turnPrLink(turn), httpOrigins);
  return link === null ? null : `<${escapeMrkdwn(link.url)}|${cutEscaped(link.label, NAME_MAX)}>`;
}

/** Untrusted lines, in which nothing is markup. */
function preformatted(lines: readonly string[]): KnownBlock | null {
  const text = lines.join("\n");
  return text.trim() === "" ? null : richText(codePart(text));
}
