import type { Outcome } from "./outcome.ts";

export type OutcomeButton = "view-pull-request" | "try-again" | "keep-watching";

/** What a person reads when a turn has ended: plain text, no markup. */
export type OutcomeText = {
  symbol: string;
  headline: string;
  /** What happened, and what to do next. */
  detail: string;
  buttons: OutcomeButton[];
};

/** The honest text of an outcome. `watchedFor`: the deadline, in words. */
export function outcomeText(outcome: Outcome, watchedFor: string): OutcomeText {
  const text = textOf(outcome, watchedFor);
  return hasPullRequest(outcome) ? { ...text, buttons: ["view-pull-request", ...text.buttons] } : text;
}

/** Whether the job has a pull request, whatever became of the job. */
function hasPullRequest(outcome: Outcome): boolean {
  return outcome.job !== null && outcome.job.prLink !== null;
}

function textOf(outcome: Outcome, watchedFor: string): OutcomeText {
  switch (outcome.kind) {
    case "pull-request":
      return {
        symbol: "✅",
        headline: "The pull request is ready for review.",
        detail: "Review it and merge it as usual.",
        buttons: [],
      };
    case "no-changes":
      return {
        symbol: "☑️",
        headline: "Nothing was changed.",
        detail:
          "The agent finished without changing a file, so there is no pull request. If something should have changed, ask again and name the page and what is wrong on it.",
        buttons: [],
      };
    case "failed":
      return {
        symbol: "❌",
        headline: "The job failed.",
        detail: hasPullRequest(outcome)
          ? "The agent met an error it could not recover from, but it had already opened a pull request: check it before you merge it."
          : "The agent met an error it could not recover from. No pull request was opened. Try again; if it fails again, whoever runs the job service can look the job up.",
        buttons: ["try-again"],
      };
    case "archived":
      return {
        symbol: "🗄️",
        headline: "The job was archived.",
        detail: hasPullRequest(outcome)
          ? "Someone, or a clean-up, archived it at the job service. Its pull request is there."
          : "Someone, or a clean-up, archived it at the job service before a pull request was opened. Ask again if you still need the change.",
        buttons: [],
      };
    case "expired":
      return outcome.reason === "never-started"
        ? {
            symbol: "⌛",
            headline: "The job could not be started.",
            detail: `The job service took no requests for ${watchedFor}, so no job was started and nothing is running. Try again when it is back.`,
            buttons: ["try-again"],
          }
        : {
            symbol: "⌛",
            headline: `The job is still not done after ${watchedFor}.`,
            detail: "I have stopped watching it. It may still be running. Keep watching to hear how it ends.",
            buttons: ["keep-watching"],
          };
    case "missing":
      return {
        symbol: "❓",
        headline: "The job service no longer knows this job.",
        detail: hasPullRequest(outcome)
          ? "It may have been deleted there. Its pull request is still in the repository."
          : "It may have been deleted there. If it opened a pull request, the pull request is in the repository. Keep watching if the job may still be there, or try again to start a new one.",
        buttons: ["keep-watching", "try-again"],
      };
    case "unknown":
      return unknownText(outcome);
    case "rejected":
      return rejectedText(outcome);
  }
}

function unknownText(outcome: Outcome): OutcomeText {
  const symbol = "❓";
  if (outcome.job !== null) {
    return {
      symbol,
      headline: "I cannot tell how the job ended.",
      detail:
        "The job service answers in a way I cannot read. The job may still be running. Tell whoever runs Docs Agent; keep watching once that is fixed.",
      buttons: ["keep-watching"],
    };
  }
  return {
    symbol,
    headline: "I cannot tell whether the job was started.",
    detail:
      outcome.reason === "unreadable"
        ? "The job service answered in a way I cannot read. I did not ask twice, because a second job would open a second pull request. Look for a new pull request in the repository; if there is none, try again."
        : "I sent the request to the job service, and its answer never arrived. I did not send it twice, because a second job would open a second pull request. Look for a new pull request in the repository; if there is none, try again.",
    buttons: ["try-again"],
  };
}

function rejectedText(outcome: Outcome): OutcomeText {
  const symbol = "⛔";
  const started = outcome.job !== null;
  const buttons: OutcomeButton[] = [started ? "keep-watching" : "try-again"];
  const after = started
    ? "The job may still be running: keep watching once that is fixed."
    : "Nothing was started: try again once that is fixed.";
  switch (outcome.reason) {
    case "key":
      return {
        symbol,
        headline: "The job service refused this app's API key.",
        detail: `Whoever runs Docs Agent has to check the key for this project. ${after}`,
        buttons,
      };
    case "prompt":
      return {
        symbol,
        headline: "The job service refused this request.",
        detail: started
          ? after
          : "Nothing was started. The same words would be refused again: ask in other or fewer words.",
        buttons: started ? buttons : [],
      };
    case "project":
      return {
        symbol,
        headline: "The job service does not know this project.",
        detail: `Whoever runs Docs Agent has to check the project's id. ${after}`,
        buttons,
      };
    default:
      return {
        symbol,
        headline: "The job service refused the request.",
        detail: `Whoever runs Docs Agent has to check its address and settings. ${after}`,
        buttons,
      };
  }
}
