import type { RichTextBlock, RichTextElement } from "@slack/types";
import { mentionedIn } from "../core/turn/people.ts";
import type { MessageOf } from "../core/ports/notifier.ts";
import { newsText } from "../core/text/pull-request-text.ts";
import { movedBlock, pullRequestLink } from "./links.ts";
import { linePart, quotePart, SAID_MAX, STATE_MAX } from "./blocks.ts";
import type { Rendered, Presentation, TeamView } from "./blocks.ts";
import { cutEscaped } from "./mrkdwn.ts";

/**
 * What became of a turn's pull request. It is rich text, so that nothing in it is markup: names and
 * words come from whoever can write at the code host.
 */
export function newsMessage(
  { turn, news, url, movedBecause, muted = [] }: MessageOf<"news">,
  view: Pick<Presentation, "httpOrigins"> & TeamView,
): Rendered {
  const { symbol, isForAll, before, after, quotes } = newsText(news);
  const link = pullRequestLink(url, view.httpOrigins);
  const unnamed = before === "" ? "The pull request" : "the pull request";
  const people = isForAll ? mentionedIn(turn, muted) : [];
  const line: RichTextElement[] = [
    { type: "text", text: `${symbol} ` },
    ...people.flatMap((userId): RichTextElement[] => [
      { type: "user", user_id: userId },
      { type: "text", text: " " },
    ]),
    ...(before === "" ? [] : [{ type: "text" as const, text: before }]),
    link === null ? { type: "text", text: unnamed } : { type: "link", url: link.url, text: link.label },
    { type: "text", text: after },
  ];
  const elements: RichTextBlock["elements"] = [
    { type: "rich_text_section", elements: line },
    ...quotes.flatMap(({ author, words }) => [
      ...(author === null ? [] : [linePart({ type: "text", text: author, style: { bold: true } })]),
      quotePart([{ type: "text", text: words }]),
    ]),
  ];
  const mentions = people.map((userId) => `<@${userId}> `).join("");
  const headline = cutEscaped(`${before}${link?.label ?? unnamed}${after}`, STATE_MAX);
  return {
    text: [
      `${symbol} ${mentions}${headline}`,
      ...quotes.map(({ author, words }) =>
        cutEscaped(author === null ? words : `${author}: ${words}`, SAID_MAX),
      ),
    ].join("\n"),
    blocks: [
      ...(movedBecause === null ? [] : [movedBlock(turn.request, movedBecause, view)]),
      { type: "rich_text", elements },
    ],
  };
}
