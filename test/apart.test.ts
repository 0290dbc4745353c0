import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { APART_READERS } from "../service/runner/apart/readers.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const READERS_FILE = "service/runner/apart/readers.ts";

/**
 * The files that read what an agent, a repository or a code host wrote, and take the time and
 * memory that its author decides. Only the readers' process may load them: a function in one of
 * them is called by `context.apart.read`.
 */
const APART = [
  "service/runner/agents/long-message.ts",
  "service/runner/bytes/find-moved.ts",
  "service/runner/bytes/keep-bytes.ts",
  "service/runner/claims/check-sources.ts",
  "service/runner/claims/claims-in-change.ts",
  "service/runner/claims/find-quotes.ts",
  "service/runner/claims/parse-claims.ts",
  "service/runner/publish/copied-words.ts",
  "service/runner/publish/inert-text.ts",
  "service/runner/publish/meant-for-users.ts",
  "service/runner/publish/pull-request-text.ts",
  "service/runner/publish/read-text.ts",
  "service/runner/publish/readings.ts",
  "service/runner/publish/runs-of-words.ts",
  "service/runner/publish/shared-runs.ts",
  "service/runner/publish/shown-diff.ts",
  "service/runner/publish/slack-words.ts",
  "service/runner/publish/sources-text.ts",
  "service/runner/publish/template.ts",
  "service/runner/publish/text-readers.ts",
  "service/runner/publish/title.ts",
  "service/runner/publish/wrapped-text.ts",
  "service/runner/verify/added-switches.ts",
  "service/runner/verify/judge-runs.ts",
  "service/runner/verify/output-lines.ts",
  "service/runner/verify/moved-pages.ts",
  "service/runner/verify/varying-lines.ts",
];

/**
 * The other files of the folders where such text is handled, each with what bounds it. They run on
 * a thread that serves all turns, or answers HTTP. Where does a new file belong that reads a word of others? Into
 * the list above, unless its input is so small that nothing written there takes a second.
 */
const BOUNDED: Record<string, string> = {
  "service/code-host/bounded-fetch.ts":
    "20 MiB, of which values, levels and digits are counted before anything is parsed",
  "service/code-host/bounded-list.ts": "100,000 values, of which it checks the first 1000",
  "service/code-host/code-host-tokens.ts": "a token of 10,000 characters",
  "service/code-host/commit-identities.ts": "a login of 100 characters, and what `boundedFetch` lets through",
  "service/code-host/cut-texts.ts": "each byte of 20 MiB once",
  "service/code-host/github-api.ts": "what `boundedFetch` lets through; 500 characters of a refusal",
  "service/code-host/github-app.ts": "the operator's key, and what `boundedFetch` lets through",
  "service/code-host/github-code-host.ts": "what `boundedFetch` lets through, checked once against schemas",
  "service/code-host/github-commits.ts": "an id, and a refusal's 500 characters",
  "service/code-host/github-followed-host.ts": "the same; 30 reviews, and a refusal's 500 characters",
  "service/code-host/github-pull-facts.ts": "the same; of each list, the last 1000",
  "service/code-host/github-pull-reading.ts": "the same; ten pages of reviews",
  "service/code-host/refusals.ts": "what `boundedFetch` lets through of a refusal; 16,000 bytes of git's",
  "service/code-host/token-provider.ts": "a refusal's 500 characters",
  "service/follow/follow-repository.ts": "200 looks in a run, with what `boundedFetch` lets through",
  "service/follow/follower.ts": "webhooks of 1 MiB, parsed only if the code host has signed them",
  "service/follow/judge.ts": "20 reviews and as many names, of which it reads 8000 characters each",
  "service/follow/repositories.ts": "settings, and three numbers of an answer's headers",
  "service/runner/agents/acp-agent.ts": "what `readMessage` keeps; a reason of 500 characters",
  "service/runner/agents/acp-message.ts": "one pass over a line of 64 KiB, or apart over a longer one",
  "service/runner/agents/acp-permissions.ts": "1000 paths of 4096 characters, of which ten are shown",
  "service/runner/agents/acp-questions.ts":
    "what `readMessage` keeps, of which `redactedText` reads 40,000 characters",
  "service/runner/agents/acp-session.ts": "what `readMessage` keeps",
  "service/runner/agents/acp-stream.ts": "parses lines of 64 KiB; longer ones only get to another process",
  "service/runner/agents/acp-updates.ts": "64,000 characters of a message; 1000 lines as in agent.ts",
  "service/runner/agents/agent-process.ts": "the last 4000 bytes of standard error",
  "service/runner/agents/agent.ts": "1000 lines, of each of which `redactedLine` reads 40,000 characters",
  "service/runner/agents/attachments.ts": "names of 100 characters; files are only encoded",
  "service/runner/agents/brief.ts": "settings, and 40,000 characters of earlier turns",
  "service/runner/agents/command-agent.ts": "the last 32,000 bytes of standard output; lines as in agent.ts",
  "service/runner/agents/pausable-clock.ts": "no text",
  "service/runner/apart/apart.ts": "96 MiB that are only copied, and results of 16 MiB",
  "service/runner/apart/reader-process.ts": "it is the readers' process",
  "service/runner/apart/readers.ts": "it is loaded by the readers' process",
  "service/runner/apart/subjects.ts": "no text of others",
  "service/runner/apart/watch-parent.ts": "no text",
  "service/runner/branch-pulls.ts": "100 pull requests, of which names and numbers are compared",
  "service/runner/claims/source-place.ts": "paths of 2000 characters, and what links say: both in one pass",
  "service/runner/claims-file.ts": "reads at most 1 MiB and looks at none of it",
  "service/runner/close-empty-pull.ts": "100 pull requests, of which names and numbers are compared",
  "service/runner/confined-files.ts": "reads files, and looks at none of them",
  "service/runner/create-turn-runner.ts":
    "a summary of 8000 characters, and reasons that `redactedLine` bounds",
  "service/runner/earlier-push.ts": "200 commits, of whose trailers 1000 characters are read",
  "service/runner/folders.ts": "our own notes; at a start, the environments of processes",
  "service/runner/git/commit-tree.ts": "the operator's settings, and a message that was read before",
  "service/runner/git/changed-pages.ts": "names of changed files, each once; a patch that is only copied",
  "service/runner/git/fetch-on.ts": "no text",
  "service/runner/git/fetch-watch.ts": "each line of git's standard error once, as it comes",
  "service/runner/git/git-fault.ts": "16,000 bytes of what git said",
  "service/runner/git/git.ts": "64 MiB of git's output, copied and split; of a failure, 16,000 bytes",
  "service/runner/git/history.ts": "names of commits: those at the cuts of a history, and where two part",
  "service/runner/git/keyed-lock.ts": "no text",
  "service/runner/git/mirror-files.ts": "names of our own files",
  "service/runner/git/mirror.ts": "two names; in upkeep, all branches of jobs, each once",
  "service/runner/git/objects.ts": "64 MiB of git's lines, each once; long listings give way to others",
  "service/runner/git/reapply.ts": "names of files in conflict, only counted",
  "service/runner/kept-sessions.ts": "moves folders; its own notes",
  "service/runner/process-group.ts": "output as it comes, in one pass; ends of some thousand bytes",
  "service/runner/process/inherited-files.ts": "no text of others",
  "service/runner/process/main.ts": "100 lines about messages that `readMessage` kept",
  "service/runner/process/messages.ts": "schemas of bounded texts",
  "service/runner/process/runner-client.ts": "messages of the runner, which are bounded",
  "service/runner/process/runner-host.ts": "200 lines of 500 characters at a time",
  "service/runner/process/thread-note.ts": "a number",
  "service/runner/publish/bounded-paths.ts": "50 paths, which git and the system limit to 4096 bytes",
  "service/runner/publish/checked-claim.ts": "200 claims of bounded length, only counted",
  "service/runner/publish/hosted-pages.ts": "addresses of the settings, and one path of 1000 characters",
  "service/runner/publish/our-parts.ts": "searches for fixed words, each in one pass",
  "service/runner/publish/publish.ts": "a title, of which `redactedLine` reads 40,000 characters",
  "service/runner/publish/read-template.ts": "20,000 bytes; the names of a commit's files, each once",
  "service/runner/publish/turn-note.ts": "our own notes, of bounded texts",
  "service/runner/publish/visibility.ts": "settings, and what the code host says of a repository",
  "service/runner/publish/whole-change.ts": "what git lists: each path once",
  "service/runner/read-diff.ts": "names of files, of which `redactedLine` reads 40,000 characters",
  "service/runner/run-agent.ts": "a brief, of settings and bounded texts",
  "service/runner/run-turn.ts": "bounded texts that were read before",
  "service/runner/sandbox/bubblewrap.ts": "settings, and paths of the system",
  "service/runner/sandbox/disk-watch.ts": "a number that `du` prints",
  "service/runner/sandbox/open-sandbox.ts": "settings, and what our own trial prints",
  "service/runner/sandbox/program.ts": "256 bytes of a script that the settings name",
  "service/runner/sandbox/sandbox.ts": "settings",
  "service/runner/sandbox/turn-groups.ts": "small files of the system",
  "service/runner/steps/allow-publishing.ts": "what the readers found",
  "service/runner/steps/await-branch.ts": "a refusal's 500 characters",
  "service/runner/steps/check-claims.ts": "200 claims, sorted by repository; files are only copied",
  "service/runner/steps/claims-of-change.ts": "names of changed files, each once; pages are only copied",
  "service/runner/steps/check.ts": "names of changed files, each once; agents' files are only copied",
  "service/runner/steps/commit-by-api.ts": "names of 1000 files and 25 MB of them, only encoded",
  "service/runner/steps/commit-words.ts": "what the readers made of it",
  "service/runner/steps/describe.ts": "what the readers made of it",
  "service/runner/steps/find-copies.ts": "what the readers found; git reads the files",
  "service/runner/steps/keep-earlier.ts": "our own notes, and names of changed files, each once",
  "service/runner/steps/keep-pages.ts": "names of files, giving way to others; pages are only copied",
  "service/runner/steps/locate-files.ts": "200 paths of 2000 characters, through ten links at most",
  "service/runner/steps/look-again.ts": "numbers and states of pull requests",
  "service/runner/steps/open-contexts.ts": "settings",
  "service/runner/steps/open-tree.ts": "what git lists: each path once",
  "service/runner/steps/push-work.ts": "our own notes, and names of files, only counted",
  "service/runner/steps/report.ts": "bounded texts that were read before",
  "service/runner/steps/run-check.ts": "joins at most 4 MiB of output, and searches it for one folder",
  "service/runner/steps/time-limit.ts": "no text",
  "service/runner/steps/verify-work.ts": "what the readers made of it; names of changed files, each once",
  "service/runner/steps/work-in-rounds.ts": "what the readers made of it",
  "service/runner/seen-closed.ts": "our own notes, of 1000 numbers",
  "service/runner/tree/fill-tree.ts": "what git lists, each once, giving way to others; links of 4096 bytes",
  "service/runner/tree/kept-trees.ts": "our own notes, giving way to others",
  "service/runner/tree/left-behind.ts": "paths of 3000 bytes, and the words of a request, of 64 KiB a turn",
  "service/runner/tree/left-out-notes.ts": "five paths for each of five reasons",
  "service/runner/tree/names.ts": "paths of 3000 bytes, in one pass; of new files, 16 million characters",
  "service/runner/tree/path-rules.ts":
    "64 MiB of rules, which git reads, and its words on changed paths, each once; files of 1024 bytes",
  "service/runner/tree/scan-tree.ts":
    "200,000 files and 16 million characters of paths, giving way to others",
  "service/runner/tree/select-changes.ts": "the same; 1000 files, which are only searched for secrets",
  "service/runner/tree/written-files.ts": "files that git listed, giving way to others",
  "service/runner/turn-runner.ts": "schemas of bounded texts",
  "service/runner/turn-start.ts": "types",
  "service/runner/turn.ts": "types",
  "service/runner/upkeep.ts": "names of our own files and branches, some each hour",
  "service/runner/verify/check-pages.ts": "names of changed files, each once",
  "service/runner/verify/inline-switches.ts": "settings",
  "service/runner/verify/kept-outputs.ts": "compares lock files byte by byte, of 32 MiB at most",
};

/** The folders where the words of others are handled. */
const FOLDERS = /^service\/(?:code-host|follow|runner)\//;

type Import = { file: string; target: string };

/** All imports but those of types, which load nothing. */
function loads(): Import[] {
  return readdirSync(join(ROOT, "service"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const file = `service/${name}`;
      const source = readFileSync(join(ROOT, file), "utf8");
      const found = source.matchAll(
        /(?:import|export) (?<what>(?:(?!import |;)[^])*?)from "(?<from>\.[^"]+)"/g,
      );
      return [...found].flatMap(({ groups: { what = "", from = "" } = {} }) => {
        const names = what
          .replace(/^\{|\}\s*$/g, "")
          .split(",")
          .map((each) => each.trim());
        const isType =
          what.startsWith("type ") || names.every((each) => each === "" || each.startsWith("type "));
        return isType ? [] : [{ file, target: normalize(join(dirname(file), from)) }];
      });
    });
}

const all = loads();

it("finds the imports it is about", () => {
  expect(all.length).toBeGreaterThan(200);
  expect(all).toContainEqual({ file: READERS_FILE, target: "service/runner/publish/text-readers.ts" });
});

it("what reads others' text at length is loaded by the readers' process alone", () => {
  const wrong = all.filter(
    ({ file, target }) => APART.includes(target) && !APART.includes(file) && file !== READERS_FILE,
  );
  expect(wrong).toEqual([]);
  const loading = all.filter(({ target }) => target === READERS_FILE).map(({ file }) => file);
  expect(loading).toEqual(["service/runner/apart/reader-process.ts"]);
});

it("each file that handles others' text is apart, or says what bounds it", () => {
  const handling = readdirSync(join(ROOT, "service"), { recursive: true, encoding: "utf8" })
    .map((name) => `service/${name}`)
    .filter((file) => file.endsWith(".ts") && FOLDERS.test(file));
  const listed = [...APART, ...Object.keys(BOUNDED)];
  expect(handling.filter((file) => !listed.includes(file))).toEqual([]);
  // Nothing is listed twice, or that isn't there.
  expect(listed.toSorted()).toEqual([...new Set(listed)].toSorted());
  for (const file of listed) expect(readFileSync(join(ROOT, file), "utf8")).not.toBe("");
});

it("a reader is a function of such a file", () => {
  const source = readFileSync(join(ROOT, READERS_FILE), "utf8");
  for (const name of Object.keys(APART_READERS))
    expect(source).toMatch(new RegExp(`import [^;]*\\b${name}\\b[^;]*from`));
});
