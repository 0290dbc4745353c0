import { cut } from "../../../shared/text/text.ts";
import type { Redact } from "../../base/redaction.ts";
import type { EarlierTurn, RunTurnInput } from "../runner.ts";
import { quoted } from "./inert-text.ts";
import { quotesSlack } from "./slack-words.ts";

const MAX_WORDS_LENGTH = 8000;
const MAX_EARLIER_WORDS_LENGTH = 2000;
const MAX_EARLIER_LENGTH = 12_000;
/** Stands for what a request rests on and nobody chose to publish. */
const IN_SLACK = "Messages in Slack described it; they aren't quoted here.";

/**
 * Words that point at something, and those that stand beside them in any request. A request of
 * nothing else says neither what is wrong nor where.
 */
const POINTING = new Set(
  `this these that those it its them they here there above below same such one ones i we you me
  us my our your the a an and or also too as well in on of for from to with at by about please
  pls plz kindly hey hi hello thanks thank ok okay yes so then now again just all both every
  each everything can could would should will shall must may need needs want let lets let's make
  do does get have has is are be was were fix fixes fixed correct repair mend change changes
  update edit improve solve resolve address handle adjust right doc docs documentation page
  pages problem problems issue issues error errors mistake mistakes bug bugs thing things wrong
  broken message messages thread conversation comment comments post discussion said say says
  describe describes described mention mentions mentioned show shows shown docs-agent`
    .trim()
    .split(/\s+/),
);
/** A longer request says something. */
const MAX_POINTING_LENGTH = 200;

/** True if a request says nothing but "fix this", so its readers don't know what it is about. */
export function onlyPoints(words: string): boolean {
  if (words.length > MAX_POINTING_LENGTH) return false;
  const lower = words.toLowerCase().replaceAll("’", "'");
  return (lower.match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []).every((word) => POINTING.has(word));
}

type Asked = Pick<RunTurnInput, "number" | "prompt" | "words"> & { earlierTurns: readonly EarlierTurn[] };

/**
 * What people asked for in their own words, in order. The rest of a prompt is only named, because
 * nobody chose to publish it. Empty if nothing is known.
 */
export function askedText({ number, prompt, words, earlierTurns }: Asked, redact: Redact): string {
  const own = wordsText({ prompt, words }, MAX_WORDS_LENGTH, redact);
  const isAll = earlierTurns.length === number - 1;
  const earlier = earlierTurns.flatMap((turn) => {
    const text = wordsText(turn, MAX_EARLIER_WORDS_LENGTH, redact);
    const isEmpty = text === "" || (text === IN_SLACK && turn.outcome === "no-changes");
    return isEmpty ? [] : [{ text, came: CAME[turn.outcome ?? ""] ?? "" }];
  });
  if (earlier.length === 0) return own;
  const labeled = earlier.map(({ text, came }, at) => `${at > 0 ? "Then" : first(isAll)}${came}:\n\n${text}`);
  return [...withinLength(labeled), ...(own === "" ? [] : [`Then:\n\n${own}`])].join("\n\n");
}

function first(isAll: boolean): string {
  return isAll ? "Asked first" : "Asked before";
}

/** What became of an earlier turn that isn't part of the change. */
const CAME: Readonly<Record<string, string>> = {
  failed: " (failed)",
  "no-changes": " (nothing was changed)",
  cancelled: " (stopped)",
};

function wordsText({ prompt, words }: Pick<Asked, "prompt" | "words">, max: number, redact: Redact): string {
  const isInSlack = quotesSlack({ prompt, words }) && (words === null || onlyPoints(words));
  return [
    ...(words === null ? [] : [quoted(cut(redact(words), max))]),
    ...(isInSlack ? [IN_SLACK] : []),
  ].join("\n\n");
}

/** The first of these texts as far as there is room, and how many more there are. */
function withinLength(texts: readonly string[]): string[] {
  let room = MAX_EARLIER_LENGTH;
  const kept = texts.filter((text) => (room -= text.length) >= 0);
  const more = texts.length - kept.length;
  return more === 0 ? kept : [...kept, `… and ${more} more`];
}
