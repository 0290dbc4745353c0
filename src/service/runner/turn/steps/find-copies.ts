import { readFile } from "node:fs/promises";
import { attachmentKindOf } from "../../../../shared/contract/attachment.ts";
import { codeOf } from "../../../../shared/errors.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import {
  changedEntries,
  filesOfCommit,
  inBatches,
  readFiles,
  readObjects,
} from "../../workspace/git/objects.ts";
import type { CopiedPart, Runs, Source, Told } from "../../publish/copied-words.ts";
import type { Text } from "../../publish/read-text.ts";
import type { Withheld } from "../../publish/turn-note.ts";
import { isPublicContext } from "../../publish/visibility.ts";
import { createIsShown } from "../../workspace/tree/select-changes.ts";
import type { OpenContext, TurnContext, RunnerTurn } from "../../turn-context.ts";

/** Where found words come from: another person in Slack, an attached file, a private repository. */
export type Origin = { kind: "slack" } | { kind: "attachment" } | { kind: "context"; name: string };

/** Others' words in a change. */
export type Copy = CopiedPart & { origin: Origin; path: string };

/** This many words in a row are somebody's sentence. Fewer could be anyone's. */
const SLACK_IN_A_ROW = 8;
/** Code has more words that stand together by chance. */
const CONTEXT_IN_A_ROW = 12;
/** The most of a private context repository that a change is compared with. */
const MAX_CONTEXT_BYTES = 512 * 1024 ** 2;
/** One reading takes about a second. */
const BATCH_BYTES = 8 * 1024 ** 2;
/** Larger files are data. */
const MAX_FILE_BYTES = 32 * 1024 ** 2;
const NOT_TEXT = new RegExp(
  String.raw`\.(?:png|jpe?g|gif|webp|ico|bmp|tiff?|avif|pdf|zip|gz|tgz|bz2|xz|zst|7z|jar|war|` +
    String.raw`woff2?|ttf|otf|eot|mp[34]|mov|avi|webm|ogg|wav|so|dylib|dll|exe|o|a|lib|class|pyc|wasm)$`,
  "i",
);
/** The most files of a repository that are read to see if they already contain the words. */
const MAX_FILES = 200;
const MAX_PATTERNS = 100;

type Work = {
  /** The commit that the turn started from, and the one with its change. */
  from: string;
  commit: string;
  contexts: readonly OpenContext[];
  /** Texts that would be told besides the change, in the order in which they are shown. */
  told: readonly string[];
  docsArePublic: boolean;
};

/**
 * Finds the words of others in a change to a public repository, and in texts that would be told. In
 * a private one, only their messages in these texts matter: a commit's message is copied further.
 * Rejects with a `TurnFailedError` if there is too much to look through.
 */
export async function findOthersWords(
  turn: RunnerTurn,
  context: TurnContext,
  { from, commit, contexts, told, docsArePublic }: Work,
): Promise<{ copies: Copy[]; withheld: Withheld }> {
  const { mirror, apart } = context;
  const { before, changed } = docsArePublic
    ? await mirror.use((git) => changedTexts(git, from, commit))
    : { before: [], changed: [] };
  const texts: Told[] = [...changed.map(({ text }) => text), told];
  const read = await Promise.all(
    (docsArePublic ? contexts : []).map(async (each) => ({
      ...each,
      isPublic: await isPublicContext(turn.project, each, context),
    })),
  );
  const readable = [...changed.filter((each) => !isPicture(each)).map(({ text }) => text), told];

  const origins: Origin[] = [];
  const first: Runs[] = [];
  const given = [
    { kind: "slack" as const, others: await messagesOfOthers(turn, context) },
    { kind: "attachment" as const, others: await attachedTexts(turn) },
  ];
  for (const { kind, others } of given.filter((each) => each.others.some(({ length }) => length > 0))) {
    const sources = others.map((text) => ({ path: null, text }));
    const { copied: runs } = await apart.read("findCopies", { inARow: SLACK_IN_A_ROW, texts, sources });
    origins.push({ kind });
    first.push({ inARow: SLACK_IN_A_ROW, runs });
  }
  for (const each of read.filter(({ isPublic, publish }) => !isPublic && publish === "ask")) {
    origins.push({ kind: "context", name: each.name });
    first.push({ inARow: CONTEXT_IN_A_ROW, runs: await copiesOf(each, readable, context) });
  }
  const isNone = (found: readonly Runs[]) => found.every(({ runs }) => runs.length === 0);
  if (isNone(first)) return { copies: [], withheld: [] };

  // What people typed for the agent may be published.
  const typed = [...turn.earlierTurns, turn].flatMap(({ words }) => words ?? []);
  let found = await apart.read("forgetKnown", { found: first, known: [...before, ...typed], texts });
  // Only what everybody can read is nobody's own.
  const readByAll = docsArePublic
    ? [{ mirror, commit: from }, ...read.filter(({ isPublic }) => isPublic)]
    : [];
  for (const repository of readByAll) {
    if (isNone(found)) break;
    const shown = await apart.read("showCopies", { texts, found });
    const words = shown.flatMap(({ parts }) => parts.flat().map((part) => part.words));
    const known = await repository.mirror.use((git) => filesWith(git, repository.commit, words));
    found = await apart.read("forgetKnown", { found, known, texts });
  }
  const shown = await apart.read("showCopies", { texts, found });
  const copies = changed.flatMap(({ path }, at) =>
    origins.flatMap((origin, which) =>
      (shown[at]?.parts[which] ?? []).map((part) => ({ ...part, origin, path })),
    ),
  );
  const rests = shown[changed.length]?.rests ?? [];
  const withheld = told.flatMap((text, at) => {
    const rest = rests[at] ?? null;
    return rest === null ? [] : [{ text, rest }];
  });
  return { copies, withheld };
}

/** A picture has more chance words than there is room for. */
function isPicture({ path, text }: { path: string; text: Told }): boolean {
  return NOT_TEXT.test(path) && text instanceof Uint8Array && text.subarray(0, 8000).includes(0);
}

async function messagesOfOthers(turn: RunnerTurn, { apart }: TurnContext): Promise<Text[]> {
  const { prompt, words, earlierTurns, authors } = turn;
  return apart.read("messagesOfOthers", { prompt, words, earlierTurns, authors });
}

/** The turn's files that are texts. */
export function attachedTextFiles({ attachments }: Pick<RunnerTurn, "attachments">) {
  return attachments.filter(({ mediaType }) => attachmentKindOf(mediaType) === "text");
}

/** The texts that were attached, whoever wrote them. */
async function attachedTexts(turn: RunnerTurn): Promise<Text[]> {
  return Promise.all(
    attachedTextFiles(turn).map(({ path }) =>
      readFile(path).catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return "";
        throw error;
      }),
    ),
  );
}

/** The runs that the texts share with a repository, except where it speaks to its users. */
async function copiesOf(
  { name, mirror, commit, paths }: OpenContext,
  texts: readonly Told[],
  { apart, onProgress }: TurnContext,
): Promise<Float64Array> {
  onProgress(`comparing the change with the private repository ${name}`);
  const isWanted = createIsShown(paths);
  const listed = await mirror.use((git) => filesOfCommit(git, commit));
  const files = listed.filter(
    ({ path, bytes }) => bytes <= MAX_FILE_BYTES && !NOT_TEXT.test(path) && isWanted(path),
  );
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_CONTEXT_BYTES) {
    const advice =
      `The files of the context repository ${name} have more than ${MAX_CONTEXT_BYTES / 1024 ** 2} MB. ` +
      "Narrow them down by paths, or set publish to allow.";
    throw new TurnFailedError(
      "A private repository is too large to see whether the change repeats words of it.",
      { details: [advice] },
    );
  }
  const all = new Set<number>();
  const meantForUsers = new Set<number>();
  for (const batch of inBatches(files, BATCH_BYTES)) {
    const contents = await mirror.use((git) =>
      readObjects(
        git,
        batch.map(({ oid }) => oid),
      ),
    );
    const sources: Source[] = batch.map(({ path }, at) => ({ path, text: contents[at] ?? "" }));
    const found = await apart.read("findCopies", { inARow: CONTEXT_IN_A_ROW, texts, sources });
    for (const run of found.copied) all.add(run);
    for (const run of found.meant) meantForUsers.add(run);
  }
  return Float64Array.from(all).filter((run) => !meantForUsers.has(run));
}

/** Stands for the path where names are looked at together. */
const NAMES = "names of new files";

/**
 * What changed files said before, and what they say now. The names of new files are published, too,
 * as one list.
 */
async function changedTexts(git: GitRunner, from: string, to: string) {
  const files = (await changedEntries(git, from, to)).flatMap(({ path, was, is }) =>
    is === null ? [] : [{ path, was, is }],
  );
  const known = files.flatMap(({ path, was }) => (was === null ? [] : [path]));
  // Without the largest: at worst, a person is asked about words that stood there before.
  const before = [...(await readFiles(git, from, known)).values()];
  const after = await readObjects(
    git,
    files.map(({ is }) => is),
  );
  const names = files.flatMap(({ path, was }) => (was === null ? [path] : []));
  const [name = ""] = names;
  const changed: { path: string; text: Told }[] = [
    ...(name === "" ? [] : [{ path: names.length === 1 ? name : NAMES, text: names }]),
    ...files.map(({ path }, at) => ({ path, text: after[at] ?? "" })),
  ];
  return { before, changed };
}

/** The files of a commit that contain one of the long words of these texts. */
async function filesWith(git: GitRunner, commit: string, texts: readonly string[]): Promise<Buffer[]> {
  const longest = texts.flatMap((text) => {
    const words = text.slice(0, 10_000).match(/[\p{L}\p{N}]{4,}/gu) ?? [];
    return words.toSorted((one, other) => other.length - one.length).slice(0, 3);
  });
  const patterns = [...new Set(longest)].slice(0, MAX_PATTERNS).flatMap((word) => ["-e", word]);
  if (patterns.length === 0) return [];
  const options = ["grep", "-z", "-l", "-I", "-i", "-F", ...patterns, commit, "--"];
  // 1 means that there are none.
  const found = await git.lines(options, { okCodes: [0, 1] });
  const files = found.slice(0, MAX_FILES).map((name) => name.slice(commit.length + 1));
  return [...(await readFiles(git, commit, files)).values()];
}
