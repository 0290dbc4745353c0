import { mayAsk } from "../../config/agent-presets.ts";
import { redactedLine } from "../../base/printable-text.ts";
import type { GitRunner } from "../git/git.ts";
import { readFiles, readObjects } from "../git/objects.ts";
import { type ForeignWords, foreignWordsOf } from "../publish/slack-words.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import { isPublicRepository } from "./describe.ts";

const PART_CHARS = 200;
/** With the text before it, this is what a question in Slack has room for. */
const SHOWN_CHARS = 800;
/** The most files of a repository that are read to see if they already contain the words. */
const MAX_FILES = 200;
const MAX_PATTERNS = 100;

/**
 * Asks the requester before somebody else's sentence from Slack gets into a public repository.
 * Resolves to false if it must stay out. Rejects with a `TurnFailedError` if nobody can be asked,
 * or nobody answers. `from` is the commit that the turn started from.
 */
export async function allowPublishing(
  turn: RunnerTurn,
  context: RunContext,
  { from, commit, contexts }: { from: string; commit: string; contexts: readonly OpenContext[] },
): Promise<boolean> {
  const { mirror, redact, ask } = context;
  const foreign = foreignWordsOf(turn);
  if (foreign.isEmpty) return true;
  const { before, texts } = await mirror.use((git) => changedTexts(git, from, commit));
  for (const content of before) foreign.forget(content.toString("utf8"));
  const found = () =>
    texts.flatMap(({ path, text }) => foreign.foundIn(text).map((words) => ({ path, words })));
  if (found().length === 0 || !(await isPublicRepository(turn, context))) return true;
  for (const read of [{ mirror, commit: from }, ...contexts]) {
    const parts = found().map(({ words }) => words);
    await read.mirror.use((git) => forgetWhatStandsIn(git, read.commit, foreign, parts));
  }
  const parts = found().map(
    ({ path, words }) =>
      `${redactedLine(redact, path, PART_CHARS)}: “${redactedLine(redact, words, PART_CHARS)}”`,
  );
  if (parts.length === 0) return true;

  const shown = asManyAsFit(parts);
  if (!mayAsk(turn.project.agent)) {
    throw new TurnFailedError(
      "The change would publish words from a Slack message that you didn't write. Ask again and say it in " +
        `your own words:\n${shown}`,
    );
  }
  context.onProgress("waiting for an answer: may these words be published");
  const text =
    "May these words be published? They come from a Slack message that you didn't write, and the " +
    `repository is public:\n${shown}`;
  const answer = await ask({ text, choices: CHOICES, allowsText: false });
  if (answer !== null) return "choice" in answer && answer.choice === PUBLISH;
  throw new TurnFailedError("Nobody said whether the words may be published, so there is no pull request.");
}

const PUBLISH = "publish";
const CHOICES = [
  { id: PUBLISH, label: "Publish" },
  { id: "stop", label: "Stop" },
];

function asManyAsFit(parts: readonly string[]): string {
  let chars = 0;
  const fit = parts.filter((part) => (chars += part.length + 1) <= SHOWN_CHARS);
  const left = parts.length - fit.length;
  return [...fit, ...(left === 0 ? [] : [`… and ${left} more`])].join("\n");
}

/** A new or changed file, as git lists it. `was` is its earlier object, if it was a file. */
const CHANGED = /^:(?:100\d{3} \d{6} (?<was>\w+)|\d{6} \d{6} \w+) (?<is>\w+) [^D]$/;

/**
 * What changed files said before, and what they say now. The name of a new file is published, too.
 */
async function changedTexts(git: GitRunner, from: string, to: string) {
  const listed = await git.lines(["diff-tree", "-r", "-z", "--no-renames", from, to]);
  const files = listed.flatMap((line, at) => {
    const { was, is } = (at % 2 === 0 && CHANGED.exec(line)?.groups) || {};
    return is === undefined ? [] : [{ path: listed[at + 1] ?? "", was, is }];
  });
  const known = files.flatMap(({ path, was }) => (was === undefined ? [] : [path]));
  // Without the largest: at worst, a person is asked about words that stood there before.
  const before = [...(await readFiles(git, from, known)).values()];
  const after = await readObjects(
    git,
    files.map(({ is }) => is),
  );
  const texts = files.map(({ path, was }, at) => ({
    path,
    text: `${was === undefined ? `${path}\n` : ""}${after[at]?.toString("utf8")}`,
  }));
  return { before, texts };
}

/** Ignores what the repository already says, in files that contain one of the parts' long words. */
async function forgetWhatStandsIn(
  git: GitRunner,
  commit: string,
  foreign: ForeignWords,
  parts: readonly string[],
): Promise<void> {
  const longest = parts.flatMap((part) => {
    const inPart = part.match(/[\p{L}\p{N}]{4,}/gu) ?? [];
    return inPart.toSorted((one, other) => other.length - one.length).slice(0, 3);
  });
  const patterns = [...new Set(longest)].slice(0, MAX_PATTERNS).flatMap((word) => ["-e", word]);
  if (patterns.length === 0) return;
  const options = ["grep", "-z", "-l", "-I", "-i", "-F", ...patterns, commit, "--"];
  // 1 means that there are none.
  const found = await git.lines(options, { okCodes: [0, 1] });
  const files = found.slice(0, MAX_FILES).map((name) => name.slice(commit.length + 1));
  const contents = await readFiles(git, commit, files);
  for (const content of contents.values()) foreign.forget(content.toString("utf8"));
}
