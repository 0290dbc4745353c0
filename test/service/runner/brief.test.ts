// @module-tag all

import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createRedact } from "../../../src/service/base/redaction.ts";
import { briefOf } from "../../../src/service/runner/agents/brief.ts";
import { MAX_TITLE_LENGTH } from "../../../src/service/runner/publish/title.ts";
import { checkSources } from "../../../src/service/runner/turn/claims/check-sources.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { makeServiceProject } from "../../support/service-project.ts";

const MAX_WORDS = 1050;
const CLI = { name: "cli", repository: "/cli", ref: "main", paths: [], publish: "allow" as const };
const SCHEMA = { ...CLI, name: "schema" };
const { agent } = makeServiceProject();
const ASKING = {
  ...agent,
  kind: "acp" as const,
  permissions: "ask" as const,
  startSeconds: 60,
  answerTimeLimitMinutes: 60,
};
const FOLDERS = { tmp: "/tmp", contextFolder: "/context" };

type Given = { asks?: boolean; styleGuide?: string[]; instructions?: string; read?: string[] };

/** A brief, of which each sentence stands on one line. */
function told({ asks = false, read = [], styleGuide = [], instructions }: Given = {}): string {
  const given = { ...(asks ? ASKING : agent), styleGuide, ...(instructions ? { instructions } : {}) };
  const context = read.length === 0 ? [] : [CLI, SCHEMA];
  const contexts = read.map((name) => ({ name, commit: "0f3c2a1" }));
  const { whole } = briefOf({ docs: ["**/*.md"], context, agent: given }, contexts, FOLDERS);
  return whole.replace(/\s+/g, " ");
}

it.each([true, false])("has no more words than an agent keeps in mind, if it may ask: %s", (asks) => {
  const most = told({ asks, read: ["cli"], styleGuide: ["docs/STYLE.md"], instructions: "Acme." });
  expect(most.split(" ").length).toBeLessThanOrEqual(MAX_WORDS);
});

it.each<[sentence: string, isSaid: Given, isNot: Given]>([
  ["Ask once, about one thing, with the choices.", { asks: true }, {}],
  ["Nobody can answer you while you work.", {}, { asks: true }],
  ["The style guide, to be read first.", { styleGuide: ["docs/STYLE.md"] }, {}],
  ["Context repositories, which you can read and not change.", { read: ["cli"] }, {}],
  ["couldn't be read this time: schema.", { read: ["cli"] }, { read: ["cli", "schema"] }],
  ["What the people of this project want you to know:", { instructions: "Acme." }, {}],
])("says %j only where that is so", (sentence, isSaid, isNot) => {
  expect(told(isSaid)).toContain(sentence);
  expect(told(isNot)).not.toContain(sentence);
});

it("is the operator's own if the settings name one, which is filled in alike", async () => {
  await using dir = await openTempDir();
  const file = dir.file("brief.md");
  await writeFile(
    file,
    "Fix it.\n{{^asks}}\nAsk nobody.\n{{/asks}}\n## In this project\n\n{{docs}}, {{claims}}\n",
  );
  const given = { docs: ["**/*.md"], context: [], agent: { ...agent, briefFile: file } };
  const { whole, reminder } = briefOf(given, [], FOLDERS);
  expect(whole).toBe("Fix it.\nAsk nobody.\n## In this project\n\n`**/*.md`, /tmp/claims.json");
  expect(reminder).toMatch(/sources and summary too\.\n\n## In this project\n\n`\*\*\/\*\.md`/);
});

it("asks for what a source needs to be found, and for a title that is kept whole", () => {
  expect(told()).toContain("It has at least two words and twelve letters or digits");
  const content = Buffer.from("retries = 4\nretriesAtMost 12\nretriesAtMostEver\n");
  const evidenceOf = (quote: string) => {
    const source = { repository: "docs", path: "a.ts", line: 1, quote };
    const claim = { page: "a.md", statement: "It retries.", source, converted: false };
    const claims = [{ ...claim, path: "a.ts", evidence: "code" as const }];
    const files = new Map([["a.ts", { content }]]);
    const given = { claims, files, commit: "0f3c2a1", at: null, isPublic: true };
    return checkSources(given, createRedact([]))[0]?.evidence;
  };
  expect(evidenceOf("retriesAtMost 12")).toBe("code");
  expect(evidenceOf("retriesAtMostEver")).toBe("none");
  expect(evidenceOf("retries = 4")).toBe("none");
  expect(told()).toContain(`at most ${MAX_TITLE_LENGTH} characters`);
});

it("says where an agent is, as it finds it", { tags: "bubblewrap" }, async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const look = inlineAgent(`
    const told = fs.readFileSync(0, "utf8");
    const claims = process.env.DOCS_AGENT_CLAIMS;
    const found = { isNamed: told.includes("\`" + claims + "\`"), git: fs.existsSync(".git") };
    fs.writeFileSync("docs/found.json", JSON.stringify(found));
    fs.writeFileSync("notes.txt", "Not for the docs.");
    console.log("Note what is here");`);
  const result = await world.run(world.project(look));
  expect(told()).toContain("There is no `.git`");
  expect(JSON.parse(await world.show("docs/found.json"))).toEqual({ isNamed: true, git: false });
  expect(told()).toContain("Only changes to files that match these patterns are kept");
  expect(result).toMatchObject({ kind: "pull-request" });
  await expect(world.show("notes.txt")).rejects.toThrow(/does not exist/);
});
