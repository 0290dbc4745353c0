import type { Button, KnownBlock, RichTextBlock, RichTextElement } from "@slack/types";
import type { MessageOf } from "../rules/ports/notifier.ts";
import {
  isPageNamed,
  type OutcomeButton,
  outcomeText,
  type OutcomeText,
  type OutcomeWords,
} from "../rules/words/outcome-text.ts";
import { cut, grouped } from "../../shared/text/text.ts";
import type { PageText } from "../rules/words/change-text.ts";
import { endingOf, prLinkOf } from "../rules/turn/outcome.ts";
import { FORGOTTEN } from "../rules/forgotten/forgotten.ts";
import { mentionedIn } from "../rules/thread/people.ts";
import { isDirect } from "../rules/thread/request-list.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { ACTIONS, feedbackValue } from "./actions.ts";
import {
  actions,
  codePart,
  context,
  labeled,
  labeledText,
  linkedLine,
  linePart,
  listPart,
  NAME_MAX,
  plainSection,
  unstyled,
  quotePart,
  quoteText,
  richText,
  type Rendered,
  SAID_MAX,
  section,
  STATE_MAX,
  turnButton,
  type View,
  words,
} from "./blocks.ts";
import { movedBlocks, pageLink, pullRequestLink } from "./links.ts";
import { cutEscaped, escapeMrkdwn } from "./mrkdwn.ts";

/**
 * The notification that a turn has ended: what happened and what to do next. It mentions the people
 * concerned, except those in `muted`.
 */
export function outcomeMessage(
  { turn, outcome, watch, preview, movedBecause, muted = [] }: MessageOf<"outcome">,
  view: View,
): Rendered {
  const prLink = prLinkOf(outcome);
  const link = pullRequestLink(prLink, view.httpOrigins);
  const label = link === null ? null : cutEscaped(link.label, NAME_MAX);
  const url = link === null ? null : escapeMrkdwn(link.url);
  const page = preview === undefined ? null : pageLink(preview, view.httpOrigins);
  const pageLine = page === null ? null : `Preview: ${page.label}`;
  const { stoppedBy } = outcome;
  const isUnnamed = stoppedBy === undefined || stoppedBy === FORGOTTEN || muted.includes(stoppedBy);
  const stopper = isUnnamed ? null : stoppedBy;
  const words: OutcomeWords = {
    watchedFor: view.watchedFor,
    contact: view.contact,
    stopper: stopper === null ? null : `<@${stopper}>`,
    pr: url === null ? null : `<${url}|${label}>`,
    project: view.projects.length > 1 ? cutEscaped(turn.request.project.name, NAME_MAX) : null,
    botName: isDirect(turn.delivery.channelId) ? null : cutEscaped(view.botName, NAME_MAX),
    isPageNamed: isPageNamed(turn.request),
    isAct: turn.request.act !== undefined,
    changesNothing: turn.request.changesNothing === true,
  };
  const mentioned = mentionedIn(turn, muted);
  const text = withMentions(outcomeText(outcome, words), mentioned, stopper);
  const isAskOnly = view.isAskOnly(turn.delivery.channelId);
  const offered = text.buttons.filter((name) => name !== "close-pull-request" || !isAskOnly);
  const buttons = offered.flatMap((name) => button(name, turn, watch, link?.url ?? null));
  const asksForFeedback = HAS_RESULT.has(endingOf(outcome));
  const blocks = (feedback: KnownBlock[]): KnownBlock[] => [
    ...movedBlocks(turn.request, movedBecause, view),
    ...said(text),
    ...(pageLine === null ? [] : [linkedLine(pageLine, page)]),
    ...(prLink !== null && link === null ? [plainSection(`${UNSAFE_LINK} ${cut(prLink, SAID_MAX)}`)] : []),
    ...(movedBecause === null ? [] : [quoteText(cut(turn.request.instructions, SAID_MAX))]),
    ...actions(buttons),
    ...(asksForFeedback ? feedback : []),
  ];
  return {
    text: [
      withoutBlocks(withMentions(outcomeText(outcome, { ...words, pr: label }), mentioned, stopper), url),
      ...(pageLine === null ? [] : [cutEscaped(pageLine, NAME_MAX)]),
    ].join("\n"),
    blocks: blocks([feedbackIcons(turn)]),
    ...(asksForFeedback ? { plainBlocks: blocks(feedbackButtons(turn)) } : {}),
  };
}

const UNSAFE_LINK = "The pull request link doesn't look safe, so it isn't clickable:";

/** Endings that people can rate as helpful or not. */
const HAS_RESULT: ReadonlySet<string> = new Set(["pull-request", "branch", "no-changes"]);

/**
 * Adds the symbol and mentions to the headline. If it begins with who stopped the turn, the others
 * are addressed at its end.
 */
function withMentions(text: OutcomeText, mentioned: readonly string[], stopper: string | null): OutcomeText {
  const { symbol, headline } = text;
  const others = mentioned.filter((userId) => userId !== stopper).map((userId) => `<@${userId}>`);
  if (others.length === 0) return { ...text, headline: `${symbol} ${headline}`.trimEnd() };
  const names = others.join(" ");
  return {
    ...text,
    headline:
      stopper === null
        ? `${symbol} ${names} ${headline}`.trimEnd()
        : `${symbol} ${headline.replace(/\.$/, `, ${names}.`)}`,
  };
}

/** Our words around the agent's, which are rich text, so that nothing in them is markup. */
function said(text: OutcomeText): KnownBlock[] {
  const { headline, subject, pages, morePages, quote, answer, problems, facts, detail, jobId } = text;
  const theirs: RichTextBlock["elements"] = [
    ...(subject === null
      ? []
      : [linePart(words(cut(subject.text, SAID_MAX), subject.isCode ? CODE_STYLE : BOLD))]),
    ...(problems.length === 0 ? [] : [listPart("bullet", problems)]),
    ...(pages.length === 0 ? [] : [listPart("bullet", pages.map(pageParts))]),
    ...(morePages === 0 ? [] : [linePart(words(`… and ${grouped(morePages)} more`))]),
    ...(quote === null ? [] : [quotePart(words(bulleted(cut(quote, QUOTE_MAX))))]),
    ...(answer === null ? [] : answerParts(answer)),
  ];
  const isIdAsked = jobId !== null && detail.endsWith(":");
  const ours = detail === "" || isIdAsked ? [] : [detail];
  const id = jobId === null ? [] : [labeledText(isIdAsked ? detail : "ID:", cut(jobId, NAME_MAX))];
  const known = facts.length === 0 ? [] : [context([facts.join("\n")])];
  if (theirs.length === 0) return [section([headline, ...ours].join("\n")), ...known, ...id];
  return [section(headline), richText(...theirs), ...known, ...ours.map(section), ...id];
}

/** With the bullets of a list in place of Markdown's marks. */
function bulleted(text: string): string {
  return text.replace(BULLETS, "• ");
}

function pageParts({ path, about }: PageText): RichTextElement[] {
  return [words(path, CODE_STYLE), ...(about === "" ? [] : [words(about)])];
}

/** A reason and the agent's last words are kept up to this length. */
const QUOTE_MAX = 1000;
const SUBJECT_MAX = 300;
const FACTS_MAX = 300;
/** For the text without blocks. */
const ANSWER_TEXT_MAX = 1500;

/** The text for notifications and screen readers. Its first line fits on a lock screen. */
function withoutBlocks(said: OutcomeText, url: string | null): string {
  const { headline, subject, quote, answer, problems, facts, detail, jobId } = said;
  const id = jobId === null || !detail.endsWith(":") ? "" : ` ${cutEscaped(jobId, NAME_MAX)}`;
  const first = subject === null ? answer : cut(subject.text, SUBJECT_MAX);
  return [
    headline + (first === null ? "" : ` ${cutEscaped(first, ANSWER_TEXT_MAX)}`),
    cutEscaped(problems.join("\n"), SAID_MAX),
    quote === null ? "" : cutEscaped(bulleted(quote), STATE_MAX),
    cutEscaped(facts.join("\n"), FACTS_MAX),
    detail + id,
    url === null ? "" : `<${url}>`,
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function button(name: OutcomeButton, turn: Turn, watch: number, url: string | null): Button[] {
  if (name !== "view-pull-request") return [turnButton(...TURN_BUTTONS[name], { ...turn, watch })];
  if (url === null) return [];
  return [{ ...labeled(ACTIONS.viewPullRequest, "View pull request"), url, style: "primary" }];
}

/** The action and label of each button that belongs to the turn's watch. */
const TURN_BUTTONS: Record<Exclude<OutcomeButton, "view-pull-request">, [id: string, label: string]> = {
  "show-changes": [ACTIONS.showChanges, "Show changes"],
  "close-pull-request": [ACTIONS.closePullRequest, "Close it"],
  "try-again": [ACTIONS.tryAgain, "Try again"],
  "keep-watching": [ACTIONS.keepWatching, "Keep watching"],
};

const QUESTION = "Was this helpful?";

/**
 * Two icons that ask whether an outcome helped:
 * https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element. Slack shows
 * their text to people who point at them.
 */
function feedbackIcons({ id: turnId }: Turn): KnownBlock {
  const button = (vote: "yes" | "no", text: string) => ({
    text: unstyled(text),
    value: feedbackValue.write({ turnId, vote }),
    accessibility_label: `${QUESTION} ${text}`,
  });
  return {
    type: "context_actions",
    elements: [
      {
        type: "feedback_buttons",
        action_id: ACTIONS.feedback,
        positive_button: button("yes", "Helpful"),
        negative_button: button("no", "Not helpful"),
      },
    ],
  };
}

/** Normal buttons instead, for workspaces where Slack doesn't accept the icons. */
function feedbackButtons({ id: turnId }: Turn): KnownBlock[] {
  return actions([
    labeled(ACTIONS.feedbackYes, "Helpful", feedbackValue.write({ turnId, vote: "yes" })),
    labeled(ACTIONS.feedbackNo, "Not helpful", feedbackValue.write({ turnId, vote: "no" })),
  ]);
}

type Parts = RichTextBlock["elements"];

/** A fence, its code, and the fence that ends it, or the end of the text. */
const CODE = /^ {0,3}(`{3,}|~{3,}).*\n([^]*?)(?:^ {0,3}\1.*$|(?![^]))/m;
const HEADING = /^#{1,6} +(?<title>.+?)[ #]*$/;
const BULLETS = /^[-*+] /gm;
const BULLET = /^(?<indent> *)[-*+] +/;
const BOLD = { bold: true } as const;
const CODE_STYLE = { code: true } as const;
/** Addresses stay text. Code and file names become code, and strong text becomes bold. */
const INLINE = new RegExp(
  [
    String.raw`(?<address>https?:\/\/\S+)`,
    "`(?<code>[^`\\n]+)`",
    String.raw`\*\*(?<strong>[^*\n]+)\*\*`,
    String.raw`(?<![\w.@/-])(?<file>(?:[\w.@-]+\/)*[\w-][\w.-]*\.(?:mdx?|rst|adoc|txt|json|ya?ml|toml|html?` +
      String.raw`|css|[cm]?[jt]sx?|py|rb|go|rs|sh)(?::\d+)?)(?![\w/-])`,
  ].join("|"),
  "g",
);

/**
 * An agent's answer as rich text, in which nothing is a link, a mention or an emoji. Code,
 * headings, lists and strong text look as usual in Slack; other Markdown stays as written.
 */
function answerParts(answer: string): Parts {
  // Text, and a fence with its code, in turns.
  return answer.split(CODE).flatMap((text, at): Parts => {
    const kind = at % 3;
    const shown = text.replace(/^\n|\n$/g, "");
    if (kind === 1 || shown.trim() === "") return [];
    if (kind === 2) return [codePart(shown)];
    return [linePart(...shown.split("\n").flatMap(inLine))];
  });
}

function inLine(line: string, n: number): RichTextElement[] {
  const before = n === 0 ? [] : [words("\n")];
  const title = HEADING.exec(line)?.groups?.["title"];
  if (title !== undefined) return [...before, words(title, BOLD)];
  const text = line.replace(BULLET, "$<indent>• ");
  const parts: RichTextElement[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, strong, file } = match.groups ?? {};
    const [shown, style] = strong === undefined ? [code ?? file, CODE_STYLE] : [strong, BOLD];
    if (shown === undefined) continue;
    parts.push(words(text.slice(at, match.index)), words(shown, style));
    at = match.index + match[0].length;
  }
  parts.push(words(text.slice(at)));
  return [...before, ...parts.filter((part) => part.type !== "text" || part.text !== "")];
}
