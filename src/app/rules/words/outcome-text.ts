import {
  canShowChanges,
  cameToNothing,
  endingOf,
  isLeftEmpty,
  prLinkOf,
  updateOf,
  type Outcome,
} from "../turn/outcome.ts";
import { unnamedText } from "./readable-text.ts";
import type { Request } from "../turn/request.ts";
import type { KeptTurn } from "../turn/reported-turn.ts";
import { factLines, pagesToName, type PageText, problemLines, problemsCount } from "./change-text.ts";

export type OutcomeButton =
  | "view-pull-request"
  | "show-changes"
  | "close-pull-request"
  | "try-again"
  | "keep-watching";

/**
 * The values that an outcome's text is filled in with, in the markup of the place where it appears.
 */
export type OutcomeWords = {
  /** The deadline. */
  watchedFor: string;
  /** The pull request's name or link. Null if there is none, or its address can't be trusted. */
  pr: string | null;
  /** The project's name. Null if there is only one project. */
  project: string | null;
  /** The app's name, to mention in a reply. Null if any reply reaches it. */
  botName: string | null;
  /** True if the request says which page it is about. */
  isPageNamed: boolean;
  /** True if it was asked for by a button, so there are no words. */
  isAct: boolean;
  /** True if it was a question, because the app changes nothing in its channel. */
  changesNothing: boolean;
  /** The person who stopped it. Null if nobody did, or they aren't to be mentioned. */
  stopper: string | null;
  /** The contact for help. */
  contact: string;
};

/** A path, a file, an address, or a name such as "the install page". */
const PAGE = new RegExp(
  String.raw`https?:\/\/|(?:^|\s)\/\w|\w\/(?!or\b)\w|\w\.(?:mdx?|html?|rst|adoc|txt)\b|\b(?:faq|` +
    String.raw`quickstart|readme)\b|\b(?!(?:a|any|every|some|that|the|this|which|` +
    String.raw`wrong)\b)\w+ (?:article|guide|page|reference|section|tutorial)\b`,
  "i",
);

/** True if a request, or the message it quotes, seems to say which page it is about. */
export function isPageNamed({
  instructions,
  quoted,
  act,
}: Pick<Request, "instructions" | "quoted" | "act">): boolean {
  if (act !== undefined) return true;
  return PAGE.test(`${instructions}\n${unnamedText(quoted?.segments ?? [])}`);
}

/** The parts of the text that people read when a turn has ended. */
export type OutcomeText = {
  symbol: string;
  /** Our own words, with values from {@link OutcomeWords}. */
  headline: string;
  /** The untrusted subject of a headline that ends in a colon. */
  subject: { text: string; isCode: boolean } | null;
  /** Other remarks in our own words, and what to do next. May be empty. */
  detail: string;
  /**
   * The job's id (untrusted), for an operator to look into. The detail may end in a colon and
   * introduce it.
   */
  jobId: string | null;
  /** Untrusted words of the agent or its service, to be quoted. */
  quote: string | null;
  /** The agent's answer: untrusted, and longer than a quote. The headline is then empty. */
  answer: string | null;
  /** The first pages that the pull request changes, and how many more there are. Untrusted. */
  pages: PageText[];
  morePages: number;
  /** Problems with the change, and other facts about it, as lines. Untrusted. */
  problems: string[];
  facts: string[];
  buttons: OutcomeButton[];
};

/** What a person is told where the app only answers. */
export function askOnlyText(contact: string): string {
  return `I only answer questions here and change nothing. For a change, contact ${contact}.`;
}

/** The text of an outcome. It claims no more than is known. */
export function outcomeText(outcome: Outcome, words: OutcomeWords): OutcomeText {
  const said = textOf(outcome, words);
  const hasPullRequest = prLinkOf(outcome) !== null;
  const isChange = ["pull-request", "branch"].includes(endingOf(outcome));
  const isNamed = endingOf(outcome) === "pull-request" && outcome.told?.pullRequest?.isEmpty !== true;
  return {
    subject: null,
    quote: quoteOf(outcome),
    answer: null,
    ...pagesToName(isNamed ? (outcome.told?.pullRequest ?? null) : null),
    problems: isChange ? problemLines(outcome.told) : [],
    facts: isChange ? factLines(outcome.told) : (outcome.told?.notes ?? []),
    jobId: cameToNothing(outcome) ? outcome.job?.id || null : null,
    ...said,
    buttons: [
      ...(hasPullRequest ? (["view-pull-request"] as const) : []),
      ...(canShowChanges(outcome) ? (["show-changes"] as const) : []),
      ...said.buttons,
    ],
  };
}

type Text = Pick<OutcomeText, "symbol" | "headline" | "detail" | "buttons"> & Partial<OutcomeText>;

/** `buttons` leaves out those of the change. */
function text(symbol: string, headline: string, detail = "", ...buttons: OutcomeButton[]): Text {
  return { symbol, headline, detail, buttons };
}

function textOf(outcome: Outcome, words: OutcomeWords): Text {
  const { told: report, reason } = outcome;
  const pr = prLinkOf(outcome) === null ? null : (words.pr ?? "The pull request");
  const by = words.stopper;
  const askOnly = askOnlyText(words.contact);
  switch (endingOf(outcome)) {
    case "pull-request": {
      if (isLeftEmpty(outcome)) {
        const buttons = outcome.canClose === true ? (["close-pull-request"] as const) : [];
        return text("➖", `Nothing is left to merge in ${words.pr ?? "the pull request"}.`, "", ...buttons);
      }
      const update = updateOf(outcome);
      if (update === null) return pullRequestText(report, words.pr);
      if (update === "updated") return updatedText(report, words.pr ?? "the pull request");
      return text("✅", `The agent finished. ${pr} may have new commits.`);
    }
    case "branch": {
      const next = "Open a pull request from it to merge it.";
      return report?.branch
        ? {
            ...text("✅", "The changes are on branch:", next),
            subject: { text: report.branch, isCode: true },
          }
        : text("✅", "The changes are on a branch of the repository.", next);
    }
    case "no-changes": {
      if (report?.answer !== undefined) {
        return {
          ...text("💬", "", words.changesNothing ? askOnly : replyToQuestion(report.answer, words)),
          quote: null,
          answer: report.answer,
        };
      }
      if (words.changesNothing) return text("➖", "The agent gave no answer.", askOnly, "try-again");
      const headline =
        outcome.isUnsure === true ? "The agent finished, and there's no pull request." : "No changes made.";
      return text("➖", headline, replyText(outcome, words), "try-again");
    }
    case "failed":
      return failedText(outcome, pr, words);
    case "canceled": {
      const left = pr === null ? "No pull request was opened." : `${pr} has the work so far.`;
      const headline = by === null ? "The agent was stopped." : `${by} stopped the agent.`;
      return text("⏹️", headline, left, "try-again");
    }
    case "withdrawn": {
      const canceled = by === null ? "This request was canceled" : `${by} canceled this request`;
      return text("⏹️", `${canceled} before it started.`, "", "try-again");
    }
    case "unwatched": {
      const headline = by === null ? "Updates were stopped." : `${by} stopped updates.`;
      const detail = "The agent can't be stopped and may still open a pull request.";
      return text("⏹️", headline, detail, "keep-watching");
    }
    case "passed":
      return text("❓", "I can't tell how this ended by itself.", "See the result of the follow-up.");
    case "archived": {
      const detail = pr === null ? "Ask again if you still need it." : `${pr} is still there.`;
      return text("🗄️", "Your request was archived.", detail);
    }
    case "expired": {
      const { watchedFor } = words;
      if (reason === "never-started") {
        return text("⌛", `Not started: the agent was unavailable for ${watchedFor}.`, "", "try-again");
      }
      const headline = `Not done after ${watchedFor}, so I stopped watching.`;
      return text("⌛", headline, "The agent may still finish.", "keep-watching");
    }
    case "missing":
      return text("❓", "The agent no longer has this request.", checkText(pr), "try-again");
    case "unknown":
      return unknownText(outcome, pr, words.contact);
    case "rejected":
      return rejectedText(outcome, words);
  }
}

/** The link is left out: the status message has it, and the button leads there. */
function pullRequestText(report: KeptTurn | undefined, link: string | null): Text {
  const { title = null, isDraft = false } = report?.pullRequest ?? {};
  const problems = problemsCount(report);
  const subject = title === null ? null : { text: title, isCode: false };
  if (isDraft && problems !== "") {
    return { ...text("📝", `The pull request is a draft: ${problems}.`), subject };
  }
  const [symbol, ready] = isDraft
    ? ["📝", "Your draft pull request is ready"]
    : ["✅", "Your pull request is ready"];
  if (subject !== null) return { ...text(symbol, `${ready}:`), subject };
  return text(symbol, link === null ? `${ready}.` : `${ready}: ${link}`);
}

/** A first line that could be a title: short, and no sentence. */
const TITLE = /^(?![-*+•\d])[^\n]{1,80}[^\n.!?:;,…](?=\n|$)/;

/** The title is that of the follow-up, if its words begin with one, or else the pull request's. */
function updatedText(report: KeptTurn | undefined, pr: string): Text {
  const { pullRequest = null, summary = null } = report ?? {};
  const [own] = TITLE.exec(summary ?? "") ?? [];
  const title = own ?? pullRequest?.title ?? null;
  const said = {
    subject: title === null ? null : { text: title, isCode: false },
    ...(own === undefined ? {} : { quote: summary?.slice(own.length).trim() || null }),
  };
  const headline = `The agent updated ${pr}`;
  if (pullRequest?.isDraft !== true) {
    return { ...text("✅", `${headline}${title === null ? "." : ":"}`), ...said };
  }
  const problems = problemsCount(report);
  const draft = `It's a draft${problems === "" ? "" : `: ${problems}`}.`;
  return { ...text("📝", `${headline}. ${draft}`), ...said };
}

function failedText(
  outcome: Outcome,
  pr: string | null,
  { contact, isAct, changesNothing }: OutcomeWords,
): Text {
  const { told: report, isUnsure } = outcome;
  const limit = LIMITS[report?.cause ?? ""];
  if (limit !== undefined) {
    const smaller = changesNothing ? "Ask something narrower." : "Ask for a smaller change.";
    const detail = pr === null ? smaller : checkBeforeMergeText(pr);
    const reason = report?.reason ?? "";
    return PLAIN_SENTENCE.test(reason)
      ? { ...text("❌", reason, detail), quote: null, jobId: null }
      : { ...text("❌", `The agent reached its ${limit}.`, detail), jobId: null };
  }
  const headline =
    isUnsure === true
      ? "The agent couldn't finish, or hasn't started on this."
      : "The agent couldn't finish.";
  const detail = pr === null ? ifItKeepsHappening(outcome, contact) : isAct ? "" : checkBeforeMergeText(pr);
  return text("❌", headline, detail, "try-again");
}

/**
 * The agent's words if it changed something, the reason if there is one, and both if nothing came
 * of it.
 */
function quoteOf(outcome: Outcome): string | null {
  const { told: report } = outcome;
  if (report === undefined) return outcome.said || null;
  const { reason, summary } = report;
  const ending = endingOf(outcome);
  if (ending === "pull-request" || ending === "branch") return summary;
  if (ending !== "no-changes") return reason ?? summary;
  return [...new Set([reason, summary])].filter((part) => part !== null).join("\n") || null;
}

function unknownText({ job, reason }: Outcome, pr: string | null, contact: string): Text {
  if (job !== null) {
    return text("❓", "I can't tell how your request ended.", fixText(true, contact), "keep-watching");
  }
  const headline =
    reason === "unreadable"
      ? "I can't tell whether your request started."
      : "I sent your request but got no answer, so it may be running.";
  return text("❓", headline, checkText(pr), "try-again");
}

function rejectedText(outcome: Outcome, { project, contact, isAct }: OutcomeWords): Text {
  const { job, reason, admission } = outcome;
  if (admission !== undefined) return admissionText(admission, contact);
  const isStarted = job !== null;
  const rejected = (headline: string) =>
    text("⛔", headline, fixText(isStarted, contact), isStarted ? "keep-watching" : "try-again");
  if (outcome.isDeclined === true) return text("⛔", "The agent didn't start on this.");
  if (outcome.cannotAsk === true) {
    const why = "Here I only ask the agent questions, and its service is too old for them.";
    return text("⛔", "I didn't send this.", `${why} ${fixText(false, contact)}`, "try-again");
  }
  if (reason === "key") return rejected("Docs Agent isn't set up correctly: its API key was refused.");
  if (reason === "project") {
    return rejected(
      `${project === null ? "The project" : `The “${project}” project`} isn't set up correctly.`,
    );
  }
  const refused = "The agent refused your request.";
  if (reason === "prompt" && !isStarted && !isAct) return text("⛔", refused, "Reword or shorten it.");
  return rejected(refused);
}

/**
 * For a turn that was never sent, because its requester may not use the app or couldn't be checked.
 */
function admissionText(admission: NonNullable<Outcome["admission"]>, contact: string): Text {
  const texts: Record<typeof admission, [headline: string, detail: string]> = {
    guest: ["Sorry, only members of this workspace can use Docs Agent.", "Your message stays in Slack."],
    unchecked: [
      "I couldn't check whether you're a member of this workspace, so I sent nothing.",
      "Ask again.",
    ],
    uncheckable: [
      "I can't check who is a member of this workspace, so I sent nothing.",
      `Contact ${contact}.`,
    ],
  };
  return text("⛔", ...texts[admission]);
}

/**
 * What the agent may use up, by a service's name for it. The same request again would use it up,
 * too.
 */
const LIMITS: Readonly<Record<string, string>> = { "time-limit": "time limit", budget: "budget" };
/** A reason that may appear among our own words: it names the limit and contains no markup. */
const PLAIN_SENTENCE = /^(?=.*\b(?:limit|budget)\b)\p{Lu}[\p{L}\p{N} $,.'’-]{1,118}\.$/u;

function ifItKeepsHappening({ job }: Outcome, contact: string): string {
  const what = job === null || job.id === "" ? `contact ${contact}.` : `give ${contact} this ID:`;
  return `If it keeps happening, ${what}`;
}

function checkBeforeMergeText(pr: string): string {
  return `Check ${pr} carefully before you merge it.`;
}

/** What to do if nothing was changed: the page may have been unclear. */
function replyText(outcome: Outcome, words: OutcomeWords): string {
  const toQuestion = replyToQuestion(quoteOf(outcome) ?? "", words);
  return toQuestion !== "" || words.isPageNamed ? toQuestion : `${replyTo(words)} and name the page.`;
}

/** An agent that asks something wants an answer. */
function replyToQuestion(said: string, words: OutcomeWords): string {
  return said.endsWith("?") ? `${replyTo(words)} to answer.` : "";
}

function replyTo({ botName }: OutcomeWords): string {
  return botName === null ? "Reply" : `Reply with @${botName}`;
}

/** What to do if a second run might be one too many. */
function checkText(pr: string | null): string {
  return pr === null ? "Check for a new pull request before trying again." : `${pr} is still there.`;
}

/** What to do if only an operator can help. */
function fixText(isStarted: boolean, contact: string): string {
  return `Contact ${contact}, then ${isStarted ? "press *Keep watching*" : "try again"}.`;
}
