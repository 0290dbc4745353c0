import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { APART_READERS } from "../src/service/runner/process/apart/readers.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const READERS_FILE = "src/service/runner/process/apart/readers.ts";

/**
 * The files that read what an agent, a repository or a code host wrote, and take the time and
 * memory that its author decides. Only the readers' process may load them: a function in one of
 * them is called by `context.apart.read`.
 */
const APART = [
  "src/service/runner/agents/long-message.ts",
  "src/service/runner/workspace/bytes/find-moved.ts",
  "src/service/runner/workspace/bytes/keep-bytes.ts",
  "src/service/runner/turn/claims/check-sources.ts",
  "src/service/runner/turn/claims/claims-in-change.ts",
  "src/service/runner/turn/claims/find-quotes.ts",
  "src/service/runner/turn/claims/missing-tokens.ts",
  "src/service/runner/turn/claims/parse-claims.ts",
  "src/service/runner/publish/changed-lines.ts",
  "src/service/runner/publish/commit-message.ts",
  "src/service/runner/publish/copied-words.ts",
  "src/service/runner/publish/cut-at-word.ts",
  "src/service/runner/publish/fitted-parts.ts",
  "src/service/runner/publish/inert-text.ts",
  "src/service/runner/publish/meant-for-users.ts",
  "src/service/runner/publish/new-words.ts",
  "src/service/runner/publish/openers.ts",
  "src/service/runner/publish/page-words.ts",
  "src/service/runner/publish/asked-text.ts",
  "src/service/runner/publish/pull-request-text.ts",
  "src/service/runner/publish/read-text.ts",
  "src/service/runner/publish/readings.ts",
  "src/service/runner/publish/runs-of-words.ts",
  "src/service/runner/publish/shared-runs.ts",
  "src/service/runner/publish/shown-diff.ts",
  "src/service/runner/publish/slack-words.ts",
  "src/service/runner/publish/sources-text.ts",
  "src/service/runner/publish/template.ts",
  "src/service/runner/publish/text-readers.ts",
  "src/service/runner/publish/title.ts",
  "src/service/runner/publish/whole-title.ts",
  "src/service/runner/publish/wrapped-text.ts",
  "src/service/runner/turn/reviews/answers-of.ts",
  "src/service/runner/turn/reviews/others-changes.ts",
  "src/service/runner/turn/reviews/reply-texts.ts",
  "src/service/runner/turn/reviews/review-material.ts",
  "src/service/runner/hygiene/hygiene.ts",
  "src/service/runner/hygiene/page.ts",
  "src/service/runner/hygiene/read-hygiene.ts",
  "src/service/runner/hygiene/rst.ts",
  "src/service/runner/hygiene/rule.ts",
  "src/service/runner/hygiene/tags.ts",
  "src/service/runner/hygiene/tokens.ts",
  "src/service/runner/hygiene/rules/block-marks.ts",
  "src/service/runner/hygiene/rules/comments.ts",
  "src/service/runner/hygiene/rules/delimiters.ts",
  "src/service/runner/hygiene/rules/elements.ts",
  "src/service/runner/hygiene/rules/fences.ts",
  "src/service/runner/hygiene/rules/index.ts",
  "src/service/runner/hygiene/rules/leftover.ts",
  "src/service/runner/hygiene/rules/letters.ts",
  "src/service/runner/hygiene/rules/marks.ts",
  "src/service/runner/hygiene/rules/matter.ts",
  "src/service/runner/hygiene/rules/names.ts",
  "src/service/runner/hygiene/rules/rst-marks.ts",
  "src/service/runner/hygiene/rules/shape.ts",
  "src/service/runner/hygiene/rules/shell-letters.ts",
  "src/service/runner/hygiene/rules/stand-ins.ts",
  "src/service/runner/hygiene/rules/tables.ts",
  "src/service/runner/hygiene/rules/talk.ts",
  "src/service/runner/hygiene/rules/twice.ts",
  "src/service/runner/turn/checks/added-switches.ts",
  "src/service/runner/turn/checks/judge-runs.ts",
  "src/service/runner/turn/checks/output-lines.ts",
  "src/service/runner/turn/checks/moved-pages.ts",
  "src/service/runner/turn/checks/varying-lines.ts",
];

/**
 * The other files of the folders where such text is handled, each with what bounds it. They run on
 * a thread that serves all turns, or answers HTTP. Where does a new file belong that reads a word of others? Into
 * the list above, unless its input is so small that nothing written there takes a second.
 */
const BOUNDED: Record<string, string> = {
  "src/service/pulls/code-host/account.ts": "a login, of which the end is looked at",
  "src/service/pulls/code-host/bounded-fetch.ts":
    "20 MiB, of which values, levels and digits are counted before anything is parsed",
  "src/service/pulls/code-host/bounded-list.ts": "100,000 values, of which it checks the first 1000",
  "src/service/pulls/code-host/code-host-tokens.ts": "a token of 10,000 characters",
  "src/service/pulls/code-host/commit-identities.ts":
    "a login of 100 characters, and what `boundedFetch` lets through",
  "src/service/pulls/code-host/cut-texts.ts": "each byte of 20 MiB once",
  "src/service/pulls/code-host/github-api.ts": "what `boundedFetch` lets through",
  "src/service/pulls/code-host/github-fault.ts": "a refusal's message, of which 500 characters are kept",
  "src/service/pulls/code-host/github-app.ts": "the operator's key, and what `boundedFetch` lets through",
  "src/service/pulls/code-host/github-code-host.ts":
    "what `boundedFetch` lets through, checked once against schemas",
  "src/service/pulls/code-host/github-commits.ts": "an id, and a refusal's 500 characters",
  "src/service/pulls/code-host/github-followed-host.ts":
    "the same; 30 reviews, and a refusal's 500 characters",
  "src/service/pulls/code-host/failed-check-words.ts": "8000 characters of each text of five checks",
  "src/service/pulls/code-host/github-review-comments.ts":
    "the same; 25 comments of a pull request, of which it reads 8000 characters each",
  "src/service/pulls/code-host/github-checks.ts": "the same; 1000 checks, of which names and states are read",
  "src/service/pulls/code-host/write-access.ts": "names of 30 people, and the host's one word of each",
  "src/service/pulls/code-host/read-pages.ts": "a header, in which a fixed word is searched for",
  "src/service/pulls/code-host/github-failed-checks.ts":
    "what `boundedFetch` lets through; five checks, whose texts are only passed on",
  "src/service/pulls/code-host/github-reviews.ts":
    "the same; 200 threads of 20 comments, of which names are compared",
  "src/service/pulls/code-host/github-pull-facts.ts": "the same; of each list, the last 1000",
  "src/service/pulls/code-host/github-pull-reading.ts": "the same; ten pages of reviews",
  "src/service/pulls/code-host/github-pull-commits.ts": "the same; of ten pages of commits, the ids",
  "src/service/pulls/code-host/refusals.ts":
    "what `boundedFetch` lets through of a refusal; 16,000 bytes of git's",
  "src/service/pulls/code-host/token-provider.ts": "a refusal's 500 characters",
  "src/service/pulls/follow/answer-unasked.ts": "20 reviews, of which states are compared",
  "src/service/pulls/follow/follow-repository.ts":
    "200 looks in a run, with what `boundedFetch` lets through",
  "src/service/pulls/follow/follower.ts": "webhooks of 1 MiB, parsed only if the code host has signed them",
  "src/service/runner/is-live.ts": "a page of 2 MB and a patch of 32 kB, which it has read apart",
  "src/service/pulls/follow/edits.ts": "ids of 249 commits and their parents, which are compared",
  "src/service/pulls/follow/live.ts": "the paths of 100 files. Patches and pages are read apart",
  "src/service/pulls/follow/preview.ts": "20 addresses of 2000 characters and the paths of 50 files",
  "src/service/pulls/follow/keep-fresh.ts": "states of a record, and its reviews, 20 at most",
  "src/service/pulls/follow/judge.ts": "20 reviews and as many names, of which it reads 8000 characters each",
  "src/service/pulls/follow/repositories.ts": "settings, and three numbers of an answer's headers",
  "src/service/pulls/follow/unasked-turn.ts": "our own words alone",
  "src/service/runner/agents/acp-agent.ts": "what `readMessage` keeps; a reason of 500 characters",
  "src/service/runner/agents/acp-message.ts": "one pass over a line of 64 KiB, or apart over a longer one",
  "src/service/runner/agents/acp-permissions.ts": "1000 paths of 4096 characters, of which ten are shown",
  "src/service/runner/agents/acp-questions.ts":
    "what `readMessage` keeps, of which `redactedText` reads 40,000 characters",
  "src/service/runner/agents/acp-session.ts": "what `readMessage` keeps",
  "src/service/runner/agents/acp-stream.ts":
    "parses lines of 64 KiB; longer ones only get to another process",
  "src/service/runner/agents/acp-updates.ts": "64,000 characters of a message; 1000 lines as in agent.ts",
  "src/service/runner/agents/agent-process.ts": "the last 4000 bytes of standard error",
  "src/service/runner/agents/agent.ts": "1000 lines, of each of which `redactedLine` reads 40,000 characters",
  "src/service/runner/agents/attachments.ts": "names of 100 characters; files are only encoded",
  "src/service/runner/agents/brief.ts": "settings, and 40,000 characters of earlier turns",
  "src/service/runner/agents/command-agent.ts":
    "the last 32,000 bytes of standard output; lines as in agent.ts",
  "src/service/runner/agents/pausable-clock.ts": "no text",
  "src/service/runner/process/apart/apart.ts": "96 MiB that are only copied, and results of 16 MiB",
  "src/service/runner/process/apart/reader-process.ts": "it is the readers' process",
  "src/service/runner/process/apart/readers.ts": "it is loaded by the readers' process",
  "src/service/runner/process/apart/subjects.ts": "no text of others",
  "src/service/runner/process/apart/watch-parent.ts": "no text",
  "src/service/runner/publish/branch-pulls.ts": "100 pull requests, of which names and numbers are compared",
  "src/service/runner/turn/claims/source-place.ts":
    "paths of 2000 characters, and what links say: both in one pass",
  "src/service/runner/answers-file.ts": "reads at most 256 KiB and looks at none of it",
  "src/service/runner/turn/steps/address-reviews.ts":
    "200 threads of 20 comments, in which fixed words are searched for",
  "src/service/runner/turn/steps/say-answers.ts":
    "200 threads of 20 comments, in which fixed words are searched for",
  "src/service/runner/turn/steps/note-answers.ts":
    "20 answers of 500 characters; a patch that is only copied",
  "src/service/runner/turn/reviews/answers-note.ts": "our own notes, of bounded texts",
  "src/service/runner/claims-file.ts": "reads at most 1 MiB and looks at none of it",
  "src/service/runner/publish/close-empty-pull.ts":
    "100 pull requests, of which names and numbers are compared",
  "src/service/runner/workspace/confined-files.ts": "reads files, and looks at none of them",
  "src/service/runner/local/agent-variables.ts": "settings and the environment",
  "src/service/runner/local/failed-turn.ts": "reasons and details that `redactedLine` bounds",
  "src/service/runner/local/local-runner.ts": "a summary of 8000 characters",
  "src/service/runner/local/open-runner.ts": "no text of others",
  "src/service/runner/local/project-repositories.ts": "settings",
  "src/service/runner/publish/earlier-push.ts": "200 commits, of whose trailers 1000 characters are read",
  "src/service/runner/workspace/folders.ts": "our own notes; at a start, the environments of processes",
  "src/service/runner/workspace/git/commit-tree.ts":
    "the operator's settings, and a message that was read before",
  "src/service/runner/workspace/git/changed-pages.ts":
    "names of changed files, each once; a patch that is only copied",
  "src/service/runner/workspace/git/fetch-on.ts": "no text",
  "src/service/runner/workspace/git/fetch-watch.ts": "each line of git's standard error once, as it comes",
  "src/service/runner/workspace/git/git-fault.ts": "16,000 bytes of what git said",
  "src/service/runner/workspace/git/git.ts":
    "64 MiB of git's output, copied and split; of a failure, 16,000 bytes",
  "src/service/runner/workspace/git/history.ts":
    "names of commits: those at the cuts of a history, and where two part",
  "src/service/runner/workspace/git/keyed-lock.ts": "no text",
  "src/service/runner/workspace/git/mirror-files.ts": "names of our own files",
  "src/service/runner/workspace/git/mirror.ts": "two names; in upkeep, all branches of jobs, each once",
  "src/service/runner/workspace/git/objects.ts":
    "64 MiB of git's lines, each once; long listings give way to others",
  "src/service/runner/workspace/git/remote.ts": "what git lists: each branch once",
  "src/service/runner/workspace/git/merge.ts": "what git lists; lines of pages that git reads",
  "src/service/runner/workspace/git/reapply.ts": "names of files in conflict, only counted",
  "src/service/runner/workspace/kept-sessions.ts": "moves folders; its own notes",
  "src/service/runner/workspace/process-group.ts":
    "output as it comes, in one pass; ends of some thousand bytes",
  "src/service/runner/link/fitting-projects.ts": "names of the service's settings",
  "src/service/runner/link/held-work.ts": "200 lines of 500 characters at a time",
  "src/service/runner/link/lent-tokens.ts": "a token",
  "src/service/runner/link/models-behind.ts": "no text of others",
  "src/service/runner/link/service-link.ts": "16 MiB of the service's own words",
  "src/service/runner/link/thread-note.ts": "a number",
  "src/service/runner/link/work-loop.ts": "what the service says",
  "src/service/runner/program/check.ts": "names of the service's settings",
  "src/service/runner/program/main.ts": "no text of others",
  "src/service/runner/program/own-folder.ts": "no text of others",
  "src/service/runner/program/program.ts": "no text of others",
  "src/service/runner/program/run.ts": "no text of others",
  "src/service/runner/program/settings.ts": "the operator's settings",
  "src/service/runner/protocol.ts": "schemas of bounded texts",
  "src/service/runner/process/inherited-files.ts": "no text of others",
  "src/service/runner/process/main.ts": "100 lines about messages that `readMessage` kept",
  "src/service/runner/process/messages.ts": "schemas of bounded texts",
  "src/service/runner/process/machine.ts": "an id of its own",
  "src/service/runner/process/runner-process.ts": "no text of others",
  "src/service/runner/publish/bounded-paths.ts": "50 paths, which git and the system limit to 4096 bytes",
  "src/service/runner/publish/checked-claim.ts": "200 claims of bounded length, only counted",
  "src/service/runner/publish/hosted-pages.ts": "addresses of the settings, and one path of 1000 characters",
  "src/service/runner/publish/our-parts.ts": "searches for fixed words, each in one pass",
  "src/service/runner/publish/publish.ts": "a title, of which `redactedLine` reads 40,000 characters",
  "src/service/runner/publish/read-template.ts": "20,000 bytes; the names of a commit's files, each once",
  "src/service/runner/publish/turn-note.ts": "our own notes, of bounded texts",
  "src/service/runner/publish/visibility.ts": "settings, and what the code host says of a repository",
  "src/service/runner/publish/overlaps-text.ts": "20 pull requests, and three paths of each",
  "src/service/runner/publish/whole-change.ts": "what git lists: each path once",
  "src/service/runner/publish/read-diff.ts":
    "names of files, of which `redactedLine` reads 40,000 characters",
  "src/service/runner/turn/steps/run-agent.ts": "a brief, of settings and bounded texts",
  "src/service/runner/turn/run-turn.ts": "bounded texts that were read before",
  "src/service/runner/workspace/sandbox/bubblewrap.ts": "settings, and paths of the system",
  "src/service/runner/workspace/sandbox/disk-watch.ts": "a number that `du` prints",
  "src/service/runner/workspace/sandbox/open-sandbox.ts": "settings, and what our own trial prints",
  "src/service/runner/workspace/sandbox/program.ts": "256 bytes of a script that the settings name",
  "src/service/runner/workspace/sandbox/sandbox.ts": "settings",
  "src/service/runner/workspace/sandbox/turn-groups.ts": "small files of the system",
  "src/service/runner/turn/steps/find-overlaps.ts":
    "addresses of 20 pull requests, and names of 50 pages of each",
  "src/service/runner/turn/steps/allow-publishing.ts": "what the readers found",
  "src/service/runner/turn/steps/await-branch.ts": "a refusal's 500 characters",
  "src/service/runner/turn/steps/check-hygiene.ts": "pages of 32 MiB together, which are only copied",
  "src/service/runner/turn/steps/check-claims.ts": "200 claims, sorted by repository; files are only copied",
  "src/service/runner/turn/steps/claims-of-change.ts":
    "names of changed files, each once; pages are only copied",
  "src/service/runner/turn/steps/commit-work.ts":
    "names of changed files, each once; agents' files are only copied",
  "src/service/runner/turn/steps/commit-by-api.ts": "names of 1000 files and 25 MB of them, only encoded",
  "src/service/runner/turn/steps/commit-words.ts": "what the readers made of it",
  "src/service/runner/turn/steps/describe.ts": "what the readers made of it",
  "src/service/runner/turn/steps/find-copies.ts": "what the readers found; git reads the files",
  "src/service/runner/publish/merge-message.ts": "the settings' names of branches",
  "src/service/runner/turn/steps/bring-up-to-date.ts": "names of files, only counted",
  "src/service/runner/turn/steps/keep-session.ts": "nothing that others wrote",
  "src/service/runner/turn/steps/resolve-conflicts.ts":
    "50 pages at most, line by line; the start of two diffs, cut and quoted",
  "src/service/runner/turn/steps/told-texts.ts": "bounded texts, put together",
  "src/service/runner/turn/steps/keep-earlier.ts": "our own notes, and names of changed files, each once",
  "src/service/runner/turn/steps/keep-pages.ts":
    "names of files, giving way to others; pages are only copied",
  "src/service/runner/turn/steps/locate-files.ts": "200 paths of 2000 characters, through ten links at most",
  "src/service/runner/turn/steps/look-again.ts": "numbers and states of pull requests",
  "src/service/runner/turn/steps/open-contexts.ts": "settings",
  "src/service/runner/turn/steps/open-tree.ts": "what git lists: each path once",
  "src/service/runner/turn/steps/push-work.ts": "our own notes, and names of files, only counted",
  "src/service/runner/turn/steps/publish-work.ts": "bounded texts that were read before",
  "src/service/runner/turn/steps/read-others-changes.ts":
    "names of pages, only listed; 60 changes of 64 KiB, only copied",
  "src/service/runner/turn/steps/report-nothing.ts": "50 paths, and ten refused actions",
  "src/service/runner/turn/steps/run-check.ts":
    "joins at most 4 MiB of output, and searches it for one folder",
  "src/service/runner/turn/steps/time-limit.ts": "no text",
  "src/service/runner/turn/steps/run-checks.ts":
    "what the readers made of it; names of changed files, each once",
  "src/service/runner/turn/steps/work-in-rounds.ts": "what the readers made of it",
  "src/service/runner/publish/seen-closed.ts": "our own notes, of 1000 numbers",
  "src/service/runner/workspace/tree/fill-tree.ts":
    "what git lists, each once, giving way to others; links of 4096 bytes",
  "src/service/runner/workspace/tree/kept-trees.ts": "our own notes, giving way to others",
  "src/service/runner/workspace/tree/left-behind.ts":
    "paths of 3000 bytes, and the words of a request, of 64 KiB a turn",
  "src/service/runner/workspace/tree/left-out-notes.ts": "five paths for each of five reasons",
  "src/service/runner/workspace/tree/names.ts":
    "paths of 3000 bytes, in one pass; of new files, 16 million characters",
  "src/service/runner/workspace/tree/path-rules.ts":
    "64 MiB of rules, which git reads, and its words on changed paths, each once; files of 1024 bytes",
  "src/service/runner/workspace/tree/scan-tree.ts":
    "200,000 files and 16 million characters of paths, giving way to others",
  "src/service/runner/workspace/tree/select-changes.ts":
    "the same; 1000 files, which are only searched for secrets",
  "src/service/runner/workspace/tree/written-files.ts": "files that git listed, giving way to others",
  "src/service/runner/runner.ts": "schemas of bounded texts",
  "src/service/runner/turn/turn-start.ts": "types",
  "src/service/runner/turn-context.ts": "types",
  "src/service/runner/local/upkeep.ts": "names of our own files and branches, some each hour",
  "src/service/runner/turn/checks/check-pages.ts": "names of changed files, each once",
  "src/service/runner/turn/checks/inline-switches.ts": "settings",
  "src/service/runner/turn/checks/kept-outputs.ts": "compares lock files byte by byte, of 32 MiB at most",
};

/** The folders where the words of others are handled. */
const FOLDERS = /^src\/service\/(?:pulls|runner)\//;

type Import = { file: string; target: string };

/** All imports but those of types, which load nothing. */
function loads(): Import[] {
  return readdirSync(join(ROOT, "src/service"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const file = `src/service/${name}`;
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
  expect(all).toContainEqual({ file: READERS_FILE, target: "src/service/runner/publish/text-readers.ts" });
});

it("what reads others' text at length is loaded by the readers' process alone", () => {
  const wrong = all.filter(
    ({ file, target }) => APART.includes(target) && !APART.includes(file) && file !== READERS_FILE,
  );
  expect(wrong).toEqual([]);
  const loading = all.filter(({ target }) => target === READERS_FILE).map(({ file }) => file);
  expect(loading).toEqual(["src/service/runner/process/apart/reader-process.ts"]);
});

it("each file that handles others' text is apart, or says what bounds it", () => {
  const handling = readdirSync(join(ROOT, "src/service"), { recursive: true, encoding: "utf8" })
    .map((name) => `src/service/${name}`)
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
