import { counted, startOf } from "../../../../shared/text/text.ts";
import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { mayAsk } from "../../../config/agent-presets.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import type { Withheld } from "../../publish/turn-note.ts";
import { arePublicDocs } from "../../publish/visibility.ts";
import type { OpenContext, TurnContext, RunnerTurn } from "../../turn-context.ts";
import { type Copy, findOthersWords, type Origin } from "./find-copies.ts";

/** A question in Slack shows no more of a text than this. */
const MAX_LINES = 15;
/** More would be tiring to read, and other questions of the turn count, too. */
const MAX_QUESTIONS = 5;
const PATH_CHARS = 100;
/** Beginnings of what was found, where nobody can be asked. */
const MAX_HINTS = 5;

/**
 * Asks the requester before somebody else's words get into a public repository: sentences from
 * Slack, and what stands in a private context repository. Everything that a yes is about is shown
 * whole. `withheld` is what must be left out of the texts that are told about the change. Rejects
 * with a `TurnFailedError` if the words can't be shown, if nobody can be asked, or nobody answers.
 */
export async function allowPublishing(
  turn: RunnerTurn,
  context: TurnContext,
  work: { from: string; commit: string; contexts: readonly OpenContext[]; told: readonly string[] },
): Promise<{ isAllowed: boolean; withheld: Withheld }> {
  const docsArePublic = await arePublicDocs(turn.project, context);
  if (docsArePublic && turn.earlierTurns.length < turn.number - 1) {
    throw new TurnFailedError(
      "This request has too many follow-ups to see whether the change repeats others' words. " +
        "Start a new one.",
    );
  }
  const { copies, withheld } = await findOthersWords(turn, context, { ...work, docsArePublic });
  if (copies.length === 0) return { isAllowed: true, withheld };

  if (!mayAsk(turn.project.agent)) throw new TurnFailedError(`${refusalOf(copies, context)} ${OWN_WORDS}`);
  if (copies.some(({ isWhole }) => !isWhole)) {
    throw new TurnFailedError(`There is a secret in words that the change repeats. ${OWN_WORDS}`);
  }
  const questions = questionsAbout(copies, context);
  if (questions.length > MAX_QUESTIONS) {
    throw new TurnFailedError(
      `The change repeats more of others' words than can be shown in a thread. ${OWN_WORDS}`,
    );
  }
  context.onProgress("waiting for an answer: may these words be published");
  for (const text of questions) {
    const answer = await context.ask({ text, choices: CHOICES, allowsText: false });
    if (answer === null) {
      throw new TurnFailedError(
        "Nobody said whether the words may be published, so there is no pull request.",
      );
    }
    if (!("choice" in answer) || answer.choice !== PUBLISH) return { isAllowed: false, withheld };
  }
  return { isAllowed: true, withheld };
}

const PUBLISH = "publish";
const CHOICES = [
  { id: PUBLISH, label: "Publish" },
  { id: "stop", label: "Stop" },
];
const OWN_WORDS = "Ask again and say it in your own words.";

function sourceOf(origin: Origin): string {
  if (origin.kind === "slack") return "a Slack message that somebody else wrote";
  if (origin.kind === "attachment") return "an attached file";
  return `the private repository ${origin.name}`;
}

function leadOf(origin: Origin): string {
  return `May these words be published? They come from ${sourceOf(origin)}, and would be public:`;
}

/** What was found, without saying it: a reason is kept in more places than a question. */
function refusalOf(copies: readonly Copy[], { redact }: TurnContext): string {
  const sources = new Set(copies.map(({ origin }) => `from ${sourceOf(origin)}`));
  const hints = copies
    .slice(0, MAX_HINTS)
    .map(({ path, hint }) => `${redactedLine(redact, path, PATH_CHARS)}: “${hint} …”`);
  const more = copies.length - hints.length;
  const rest = more === 0 ? "" : `, and ${counted(more, "more place", "more places")}`;
  return `The change would publish words ${[...sources].join(" and ")}: ${hints.join(", ")}${rest}.`;
}

/** Questions that show all words whole, each within what a thread shows of a question. */
function questionsAbout(copies: readonly Copy[], { redact }: TurnContext): string[] {
  const questions: string[] = [];
  for (const its of Map.groupBy(copies, ({ origin }) => sourceOf(origin)).values()) {
    const [first] = its;
    if (first === undefined) continue;
    const lead = leadOf(first.origin);
    const room = SHOWN_CHARS.reason - lead.length - 1;
    const lines = its.flatMap(({ path, words }) => {
      const where = redactedLine(redact, path, PATH_CHARS);
      return pieces(words, room - `${where}: “…”…`.length).map((piece) => `${where}: ${piece}`);
    });
    let shown: string[] = [];
    for (const line of lines) {
      if (shown.length === MAX_LINES || [...shown, line].join("\n").length > room) {
        questions.push([lead, ...shown].join("\n"));
        shown = [];
      }
      shown.push(line);
    }
    questions.push([lead, ...shown].join("\n"));
  }
  return questions;
}

/** A text in quotation marks, in as many pieces as it takes. */
function pieces(text: string, max: number): string[] {
  const all: string[] = [];
  let rest = text;
  while (rest.length > max) {
    const start = startOf(rest, max);
    const end = start.lastIndexOf(" ");
    const piece = end > max / 2 ? start.slice(0, end) : start;
    all.push(piece);
    rest = rest.slice(piece.length).trimStart();
  }
  return [...all, rest].map(
    (piece, at, { length }) => `${at === 0 ? "" : "…"}“${piece}”${at === length - 1 ? "" : "…"}`,
  );
}
