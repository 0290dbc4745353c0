import { endingOf, prLinkOf, updateOf } from "./outcome.ts";
import type { Outcome } from "./outcome.ts";
import { unnamedText } from "./prompt.ts";
import type { Request } from "./request.ts";
import type { PullRequestReport } from "./told-turn.ts";

export type OutcomeButton = "view-pull-request" | "try-again" | "keep-watching";

/** What the words of an outcome are filled in with, marked up as the place where they stand reads it. */
export type OutcomeWords = {
  /** The deadline. */
  watchedFor: string;
  /** The pull request by its name, or as a link; null: there is none, or its address isn't one to trust. */
  pr: string | null;
  /** The project's name; null: there is only one. */
  project: string | null;
  /** The app's name, by which a reply in the thread reaches it; null: any reply does. */
  botName: string | null;
  /** True if the request says which page it is about. */
  isPageNamed: boolean;
  /** Who stopped it; null: nobody did, or they aren't to be mentioned. */
  stopper: string | null;
  /** Who can help when the person who asked can't. */
  contact: string;
};

/** A path, a file, an address, or a name such as "the install page". */
const PAGE =
  /https?:\/\/|(?:^|\s)\/\w|\w\/(?!or\b)\w|\w\.(?:mdx?|html?|rst|adoc|txt)\b|\b(?:faq|quickstart|readme)\b|\b(?!(?:a|any|every|some|that|the|this|which|wrong)\b)\w+ (?:article|guide|page|reference|section|tutorial)\b/i;

/** True if a request, or the message it quotes, seems to say which page it is about. */
export function isPageNamed({ instructions, quoted }: Pick<Request, "instructions" | "quoted">): boolean {
  return PAGE.test(`${instructions}\n${unnamedText(quoted?.segments ?? [])}`);
}

/** What a person reads when a turn has ended. */
export type OutcomeText = {
  symbol: string;
  /** Our own words, and what {@link OutcomeWords} gives. */
  headline: string;
  /** What the headline, which then ends in a colon, is about: untrusted. */
  subject: { text: string; isCode: boolean } | null;
  /** Whatever else there is to say in our own words, and what to do next; may be empty. */
  detail: string;
  /** The job's id, untrusted, where an operator can look into it. The detail may end in a colon and introduce it. */
  jobId: string | null;
  /** What the agent, or its service, says: untrusted, to be quoted. */
  quote: string | null;
  buttons: OutcomeButton[];
};

/** The honest text of an outcome: it claims no more than is known. */
export function outcomeText(outcome: Outcome, words: OutcomeWords): OutcomeText {
  const text = textOf(outcome, words);
  const hasPullRequest = prLinkOf(outcome) !== null;
  return {
    subject: null,
    quote: quoteOf(outcome),
    jobId: NEEDS_LOOKING_INTO.has(endingOf(outcome)) ? outcome.job?.id || null : null,
    ...text,
    buttons: hasPullRequest ? ["view-pull-request", ...text.buttons] : text.buttons,
  };
}

/** Endings of which only an operator can find out more, by the job. */
const NEEDS_LOOKING_INTO: ReadonlySet<string> = new Set([
  "failed",
  "missing",
  "unknown",
  "rejected",
  "expired",
]);

type Text = Pick<OutcomeText, "symbol" | "headline" | "detail" | "buttons"> & Partial<OutcomeText>;

function textOf(outcome: Outcome, words: OutcomeWords): Text {
  const { told } = outcome;
  const pr = prLinkOf(outcome) === null ? null : (words.pr ?? "The pull request");
  const by = words.stopper;
  const ending = endingOf(outcome);
  switch (ending) {
    case "pull-request":
      switch (updateOf(outcome)) {
        case "updated":
          return { ...READY, headline: `The agent updated ${words.pr ?? "the pull request"}.` };
        case "maybe-updated":
          return { ...READY, headline: `The agent finished. ${pr} may have new commits.` };
        case null:
          return pullRequestText(told?.pullRequest, words.pr);
      }
    case "branch":
      return {
        symbol: "✅",
        headline: told?.branch
          ? "The changes are on branch:"
          : "The changes are on a branch of the repository.",
        subject: told?.branch ? { text: told.branch, isCode: true } : null,
        detail: "Open a pull request from it to merge it.",
        buttons: [],
      };
    case "no-changes":
      return {
        symbol: "➖",
        headline:
          outcome.isUnsure === true ? "The agent finished, and there's no pull request." : "No changes made.",
        detail: replyText(outcome, words),
        buttons: ["try-again"],
      };
    case "failed": {
      const limit = LIMITS[told?.cause ?? ""];
      if (limit !== undefined) {
        const detail = pr === null ? "Ask for a smaller change." : checkBeforeMergeText(pr);
        const reason = told?.reason ?? "";
        return PLAIN_SENTENCE.test(reason)
          ? { symbol: "❌", headline: reason, quote: null, detail, jobId: null, buttons: [] }
          : { symbol: "❌", headline: `The agent reached its ${limit}.`, detail, jobId: null, buttons: [] };
      }
      return {
        symbol: "❌",
        headline:
          outcome.isUnsure === true
            ? "The agent couldn't finish, or hasn't started on this."
            : "The agent couldn't finish.",
        detail: pr === null ? ifItKeepsHappening(outcome, words.contact) : checkBeforeMergeText(pr),
        buttons: ["try-again"],
      };
    }
    case "canceled":
      return {
        symbol: "⏹️",
        headline: by === null ? "The agent was stopped." : `${by} stopped the agent.`,
        detail: pr === null ? "No pull request was opened." : `${pr} has the work so far.`,
        buttons: ["try-again"],
      };
    case "withdrawn":
      return {
        symbol: "⏹️",
        headline: `${by === null ? "This request was canceled" : `${by} canceled this request`} before it started.`,
        detail: "",
        buttons: ["try-again"],
      };
    case "unwatched":
      return {
        symbol: "⏹️",
        headline: by === null ? "Updates were stopped." : `${by} stopped updates.`,
        detail: "The agent can't be stopped and may still open a pull request.",
        buttons: ["keep-watching"],
      };
    case "archived":
      return {
        symbol: "🗄️",
        headline: "Your request was archived.",
        detail: pr === null ? "Ask again if you still need it." : `${pr} is still there.`,
        buttons: [],
      };
    case "expired":
      return outcome.reason === "never-started"
        ? {
            symbol: "⌛",
            headline: `Not started: the agent was unavailable for ${words.watchedFor}.`,
            detail: "",
            buttons: ["try-again"],
          }
        : {
            symbol: "⌛",
            headline: `Not done after ${words.watchedFor}, so I stopped watching.`,
            detail: "The agent may still finish.",
            buttons: ["keep-watching"],
          };
    case "missing":
      return {
        symbol: "❓",
        headline: "The agent no longer has this request.",
        detail: checkText(pr),
        buttons: ["try-again"],
      };
    case "unknown":
      return unknownText(outcome, pr, words.contact);
    case "rejected":
      return rejectedText(outcome, words);
  }
}

const READY = { symbol: "✅", detail: "", buttons: [] };

/** The status message has the link and the size, and the button leads there, too. */
function pullRequestText(report: PullRequestReport | null | undefined, link: string | null): Text {
  const title = report?.title ?? null;
  if (title !== null) {
    return { ...READY, headline: "Your pull request is ready:", subject: { text: title, isCode: false } };
  }
  const headline = link === null ? "Your pull request is ready." : `Your pull request is ready: ${link}`;
  return { ...READY, headline };
}

/** `3 files, +12 −4`: as much of it as is known. */
export function diffText(report: PullRequestReport | null | undefined): string {
  if (report === null || report === undefined) return "";
  const { files, additions, deletions } = report;
  const lines = additions === null || deletions === null ? "" : `+${count(additions)} −${count(deletions)}`;
  const changed = files === null ? "" : `${count(files)} ${files === 1 ? "file" : "files"}`;
  return [changed, lines].filter((part) => part !== "").join(", ");
}

/** The agent's words where it changed something; the reason where there is one to give; both where nothing came of it. */
function quoteOf(outcome: Outcome): string | null {
  const { told } = outcome;
  if (told === undefined) return outcome.said || null;
  switch (endingOf(outcome)) {
    case "pull-request":
    case "branch":
      return told.summary;
    case "no-changes":
      return [...new Set([told.reason, told.summary])].filter((part) => part !== null).join("\n") || null;
    default:
      return told.reason ?? told.summary;
  }
}

function unknownText(outcome: Outcome, pr: string | null, contact: string): Text {
  const symbol = "❓";
  if (outcome.job !== null) {
    return {
      symbol,
      headline: "I can't tell how your request ended.",
      detail: fixText(true, contact),
      buttons: ["keep-watching"],
    };
  }
  return {
    symbol,
    headline:
      outcome.reason === "unreadable"
        ? "I can't tell whether your request started."
        : "I sent your request but got no answer, so it may be running.",
    detail: checkText(pr),
    buttons: ["try-again"],
  };
}

function rejectedText(outcome: Outcome, { project, contact }: OutcomeWords): Text {
  const symbol = "⛔";
  const isStarted = outcome.job !== null;
  const buttons: OutcomeButton[] = [isStarted ? "keep-watching" : "try-again"];
  const detail = fixText(isStarted, contact);
  const refused = "The agent refused your request.";
  if (outcome.admission !== undefined) return { symbol, ...admissionText(outcome.admission, contact) };
  switch (outcome.reason) {
    case "key":
      return {
        symbol,
        headline: "Docs Agent isn't set up correctly: its API key was refused.",
        detail,
        buttons,
      };
    case "prompt":
      return isStarted
        ? { symbol, headline: refused, detail, buttons }
        : { symbol, headline: refused, detail: "Reword or shorten it.", buttons: [] };
    case "project": {
      const named = project === null ? "The project" : `The “${project}” project`;
      return { symbol, headline: `${named} isn't set up correctly.`, detail, buttons };
    }
    default:
      return { symbol, headline: refused, detail, buttons };
  }
}

/** Nothing was sent: who may not use the app, or can't be told. */
function admissionText(admission: NonNullable<Outcome["admission"]>, contact: string): Omit<Text, "symbol"> {
  switch (admission) {
    case "guest":
      return {
        headline: "Sorry, only members of this workspace can use Docs Agent.",
        detail: "Your message stays in Slack.",
        buttons: [],
      };
    case "unchecked":
      return {
        headline: "I couldn't check whether you're a member of this workspace, so I sent nothing.",
        detail: "Ask again.",
        buttons: [],
      };
    case "uncheckable":
      return {
        headline: "I can't check who is a member of this workspace, so I sent nothing.",
        detail: `Contact ${contact}.`,
        buttons: [],
      };
  }
}

/** What the agent may use up, by how a service names it. The same request again would, too. */
const LIMITS: Readonly<Record<string, string>> = { "time-limit": "time limit", budget: "budget" };
/** A reason that can stand among our own words: it names the limit, and nothing in it is markup. */
const PLAIN_SENTENCE = /^(?=.*\b(?:limit|budget)\b)\p{Lu}[\p{L}\p{N} $,.'’-]{1,118}\.$/u;

function ifItKeepsHappening({ job }: Outcome, contact: string): string {
  const what = job === null || job.id === "" ? `contact ${contact}.` : `give ${contact} this ID:`;
  return `If it keeps happening, ${what}`;
}

function checkBeforeMergeText(pr: string): string {
  return `${pr} is already open. Check it carefully before you merge.`;
}

/** How to go on where nothing was changed: an agent that asks wants an answer, and else the page may be unclear. */
function replyText(outcome: Outcome, { botName, isPageNamed: isNamed }: OutcomeWords): string {
  const reply = botName === null ? "Reply" : `Reply with @${botName}`;
  if (quoteOf(outcome)?.endsWith("?") === true) return `${reply} to answer.`;
  return isNamed ? "" : `${reply} and name the page.`;
}

/** What to do where a second run may be one too many. */
function checkText(pr: string | null): string {
  return pr === null ? "Check for a new pull request before trying again." : `${pr} is still there.`;
}

/** What to do where only an operator can help. */
function fixText(isStarted: boolean, contact: string): string {
  return `Contact ${contact}, then ${isStarted ? "press *Keep watching*" : "try again"}.`;
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
