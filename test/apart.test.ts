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
  "service/runner/claims/check-sources.ts",
  "service/runner/claims/find-quotes.ts",
  "service/runner/claims/parse-claims.ts",
  "service/runner/publish/copied-words.ts",
  "service/runner/publish/inert-text.ts",
  "service/runner/publish/meant-for-users.ts",
  "service/runner/publish/pull-request-text.ts",
  "service/runner/publish/runs-of-words.ts",
  "service/runner/publish/shown-diff.ts",
  "service/runner/publish/slack-words.ts",
  "service/runner/publish/sources-text.ts",
  "service/runner/publish/template.ts",
  "service/runner/publish/text-readers.ts",
  "service/runner/publish/title.ts",
  "service/runner/verify/findings.ts",
];

/**
 * The other files of the folders where such text is handled, each with what bounds it. They run on
 * a thread that serves all turns. Where does a new file belong that reads a word of others? Into
 * the list above, unless its input is so small that nothing written there takes a second.
 */
const BOUNDED: Record<string, string> = {
  "service/runner/claims-file.ts": "reads at most 1 MiB and looks at none of it",
  "service/runner/confined-files.ts": "reads files, and looks at none of them",
  "service/runner/earlier-push.ts": "200 commits, of which git writes one short line each",
  "service/runner/kept-sessions.ts": "moves folders; its own notes",
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
  "service/runner/steps/allow-publishing.ts": "what the readers found",
  "service/runner/steps/check-claims.ts": "200 claims, sorted by repository",
  "service/runner/steps/check.ts": "names of changed files, each once; agents' files are only copied",
  "service/runner/steps/describe.ts": "what the readers made of it",
  "service/runner/steps/find-copies.ts": "what the readers found; git reads the files",
  "service/runner/steps/look-again.ts": "numbers and states of pull requests",
  "service/runner/steps/open-contexts.ts": "settings",
  "service/runner/steps/open-tree.ts": "what git lists: each path once",
  "service/runner/steps/report.ts": "bounded texts that were read before",
  "service/runner/steps/verify-work.ts": "joins at most 4 MiB of output, and searches it for one folder",
  "service/runner/steps/work-in-rounds.ts": "what the readers made of it",
  "service/runner/verify/kept-outputs.ts": "compares lock files byte by byte, of 32 MiB at most",
};

/** The folders where the words of others are handled. */
const FOLDERS = /^service\/runner\/(?:claims|publish|steps|verify)\//;

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
