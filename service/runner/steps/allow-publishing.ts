import { oneLine } from "../printable-text.ts";
import type { GitRunner } from "../git/git.ts";
import { readFiles } from "../git/objects.ts";
import { type ForeignWords, foreignWordsOf } from "../publish/slack-words.ts";
import { TurnFailedError } from "../run-error.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import { isPublicRepository } from "./describe.ts";

/** Lines that stand next to each other and are new. */
type AddedLines = { path: string; text: string };

const PART_CHARS = 200;
/** With the words before it, what a question in Slack has room for. */
const SHOWN_CHARS = 800;
/** How many files of a repository are read to see whether words stand there already. */
const MAX_FILES = 200;
const MAX_PATTERNS = 100;

/**
 * Asks the requester before somebody else's sentence from Slack gets into a public repository.
 * False: it is to stay out. Rejects with a `TurnFailedError` if nobody can be asked, or answers.
 * `from`: the commit that the turn started from.
 */
export async function allowPublishing(
  turn: RunnerTurn,
  context: RunContext,
  { from, commit, contexts }: { from: string; commit: string; contexts: readonly OpenContext[] },
): Promise<boolean> {
  const { mirror, redact, ask } = context;
  const foreign = foreignWordsOf(turn);
  if (foreign.isEmpty) return true;
  const isForeign = ({ text }: AddedLines) => foreign.isIn(text);
  const added = await mirror.use((git) => addedLines(git, from, commit));
  if (!added.some(isForeign) || !(await isPublicRepository(turn, context))) return true;
  await mirror.use((git) => forgetWhatStandsIn(git, from, foreign, added.filter(isForeign)));
  for (const read of contexts) {
    await read.mirror.use((git) => forgetWhatStandsIn(git, read.commit, foreign, added.filter(isForeign)));
  }
  const found = added.filter(isForeign);
  if (found.length === 0) return true;

  const parts = found.flatMap(({ path, text }) =>
    foreign
      .foundIn(text)
      .map((part) => `${oneLine(redact(path), PART_CHARS)}: “${oneLine(redact(part), PART_CHARS)}”`),
  );
  const shown = asManyAsFit(parts);
  if (!turn.project.agent.asks) {
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

async function addedLines(git: GitRunner, from: string, to: string): Promise<AddedLines[]> {
  // What git takes for a binary file may still be a page.
  const options = ["--unified=0", "--text", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv"];
  const diff = await git.text(["-c", "core.quotePath=false", "diff-tree", "-r", "-p", ...options, from, to]);
  const blocks: AddedLines[] = [];
  let path = "";
  let isNew = false;
  let left = 0;
  for (const line of diff.split("\n")) {
    const last = blocks.at(-1);
    if (left > 0) {
      if (last === undefined || !line.startsWith("+")) continue;
      left -= 1;
      last.text += `${line.slice(1)}\n`;
      continue;
    }
    if (line.startsWith("--- ")) isNew = line === "--- /dev/null";
    if (line.startsWith("+++ ")) path = line.replace(/^\+\+\+ "?b\//, "").replace(/"$/, "");
    const [isHunk, count = "1"] = /^@@ -\S+ \+\d+(?:,(\d+))? @@/.exec(line) ?? [];
    if (isHunk === undefined) continue;
    left = Number(count);
    // A new file's name is published, too.
    blocks.push({ path, text: isNew ? `${path}\n` : "" });
  }
  return blocks;
}

/** Takes out what the repository says already, in files that have one of the lines' long words. */
async function forgetWhatStandsIn(
  git: GitRunner,
  commit: string,
  foreign: ForeignWords,
  added: readonly AddedLines[],
): Promise<void> {
  const words = new Set(
    added.flatMap(({ text }) => {
      const inText = text.match(/[\p{L}\p{N}]{4,}/gu) ?? [];
      return inText.toSorted((one, other) => other.length - one.length).slice(0, 3);
    }),
  );
  const patterns = [...words].slice(0, MAX_PATTERNS).flatMap((word) => ["-e", word]);
  if (patterns.length === 0) return;
  const options = ["grep", "-z", "-l", "-I", "-i", "-F", ...patterns, commit, "--"];
  // 1: none.
  const found = await git.lines(options, { okCodes: [0, 1] });
  const files = found.slice(0, MAX_FILES).map((name) => name.slice(commit.length + 1));
  const contents = await readFiles(git, commit, files);
  for (const content of contents.values()) foreign.forget(content.toString("utf8"));
}
