import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { readServiceSettings } from "../../src/doctor/service-findings.ts";
import { inWords, type Mistake } from "../support/mistake.ts";
import { openTempDir } from "../support/temp-dir.ts";

const CODE_HOST = { kind: "github", owner: "acme", repo: "docs", tokenEnv: "DOCS_TOKEN" };
const PROJECT = {
  id: "docs",
  repository: "https://github.com/acme/docs",
  agent: { kind: "command", command: ["true"] },
  codeHost: CODE_HOST,
};
const MODEL = { name: "claude", kind: "anthropic", keyEnv: "DOCS_KEY" };
const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const IS_SECRET =
  "looks like a secret. Get a new one, because this one was in a file. Set an environment variable to it, " +
  "and name that variable here.";
const WANT_CHECK =
  "one of markdownlint, links, docusaurus, mkdocs, mint, vale, or a section with name and command.";
const project = (change: object) => ({ projects: [{ ...PROJECT, ...change }] });
const codeHost = (change: object) => project({ codeHost: { ...CODE_HOST, ...change } });
const AT = "projects[0]";

/** What the doctor says of a job service's settings, or of this text in their place. */
async function toldOfService(
  change: Mistake[1] | string,
  env: Record<string, string> = {},
): Promise<string[]> {
  await using dir = await openTempDir();
  const path = dir.file("service.yml");
  const settings = { dataDir: "./data", projects: [PROJECT], ...(change as object) };
  writeFileSync(path, typeof change === "string" ? change : stringify(settings));
  const read = readServiceSettings(path, { DOCS_TOKEN: "a-token", DOCS_KEY: "a-key", ...env });
  const told = "faults" in read ? read.faults.map(inWords) : [];
  expect(told.join("\n")).not.toContain(TOKEN);
  return told.map((each) => each.replaceAll(dir.path, "DIR"));
}

const SERVICE_KINDS: readonly Mistake[] = [
  [
    "a variable as a shell names it",
    codeHost({ tokenEnv: "${DOCS_TOKEN}" }),
    `${AT}.codeHost.tokenEnv must be the variable's name alone: DOCS_TOKEN.`,
  ],
  [
    "a kind that is misspelled",
    codeHost({ kind: "gihub" }),
    `${AT}.codeHost.kind must be github (with owner, repo, and app or tokenEnv), or none for GitLab and other hosts: the service then pushes a branch, and you open the merge request. Did you mean github?`,
  ],
  [
    "a setting in the wrong section",
    project({ tokenEnv: "DOCS_TOKEN" }),
    `${AT}.tokenEnv isn't a setting here. Move it to projects[].codeHost.tokenEnv.`,
  ],
  ["a path as for a shell", { dataDir: "~/data" }, "dataDir must be a path without ~ and $: write it out."],
];

const SERVICE_VARIATIONS: readonly Mistake[] = [
  ["a token in the file, once", codeHost({ tokenEnv: TOKEN }), `${AT}.codeHost.tokenEnv ${IS_SECRET}`],
  [
    "a model's key in the file, once",
    { models: [{ ...MODEL, keyEnv: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" }] },
    `models[0].keyEnv ${IS_SECRET}`,
  ],
  [
    "a token in the address, once",
    project({ repository: `https://me:${TOKEN}@github.com/acme/docs` }),
    `${AT}.repository has a password. Get a new one, because this one was in a file, and write the address ` +
      "without it.",
  ],
  [
    "a product's name as preset",
    project({ agent: { preset: "claude-code" } }),
    `${AT}.agent.preset must be one of opencode, gemini, claude, codex, copilot. Did you mean claude?`,
  ],
  [
    "a misspelled preset",
    project({ agent: { preset: "claud" } }),
    `${AT}.agent.preset must be one of opencode, gemini, claude, codex, copilot. Did you mean claude?`,
  ],
  [
    "an agent by its name alone",
    project({ agent: "opencode" }),
    `${AT}.agent must be a section, for example { preset: opencode }.`,
  ],
  [
    "a kind of agent",
    project({ agent: { kind: "comand", command: ["true"] } }),
    `${AT}.agent.kind must be acp (Agent Client Protocol over stdio) or command (any program), with command: ["…"]; or use preset: opencode (or gemini, claude, codex, copilot). Did you mean command?`,
  ],
  [
    "a command as a text",
    project({ agent: { kind: "command", command: "opencode acp" } }),
    `${AT}.agent.command must be a list of texts, the program first, for example ["opencode", "acp"].`,
  ],
  [
    "a model in the wrong section",
    { models: [{ ...MODEL, model: "claude-sonnet-4-5" }] },
    "models[0].model isn't a setting here. Move it to projects[].agent.model or projects[].model.",
  ],
  [
    "a kind in upper case",
    codeHost({ kind: "GitHub" }),
    `${AT}.codeHost.kind must be github (with owner, repo, and app or tokenEnv), or none for GitLab and other hosts: the service then pushes a branch, and you open the merge request. Did you mean github?`,
  ],
  [
    "a page in place of the API",
    codeHost({ apiUrl: "https://github.com" }),
    `${AT}.codeHost.apiUrl must be the address of the API: https://api.github.com.`,
  ],
  [
    "owner and name in one",
    codeHost({ repo: "acme/docs" }),
    `${AT}.codeHost.repo must be the name alone, for example docs, as it stands in the repository's address.`,
  ],
  [
    "an App's client id",
    codeHost({ tokenEnv: undefined, app: { id: "Iv1.abc", keyFile: "k.pem", installationId: 2 } }),
    `${AT}.codeHost.app.id must be a whole number from 1 to 9007199254740991 (the App's id, not its client id).`,
  ],
  [
    "a page in the repository",
    project({ repository: "https://github.com/acme/docs/tree/main" }),
    `${AT}.repository must be the repository's own address, https://github.com/acme/docs, not a page in it.`,
  ],
  [
    "another repository",
    project({ repository: "https://github.com/acme/handbook" }),
    `${AT}.repository is acme/handbook, but its codeHost is acme/docs. Correct one of them.`,
  ],
  [
    "a repository without https",
    project({ repository: "github.com/acme/docs" }),
    `${AT}.repository is a local path, and there is no DIR/github.com/acme/docs. For the repository at the code host, write https://github.com/acme/docs.`,
  ],
  [
    "a model's address with its version",
    { models: [{ ...MODEL, baseUrl: "https://api.anthropic.com/v1" }] },
    "models[0].baseUrl must be the address without the version at its end, which the service adds for this kind.",
  ],
  [
    "a key in an address",
    { models: [{ ...MODEL, baseUrl: "https://api.anthropic.com?key=a" }] },
    "models[0].baseUrl must be an address without ? and #: a key goes into the variable that another setting names.",
  ],
  [
    "a model that is misspelled",
    { models: [MODEL], ...project({ models: ["claud"] }) },
    `${AT}.models must have only names that are under models. Did you mean claude?`,
  ],
  [
    "a check that is misspelled",
    project({ verify: ["link"] }),
    `${AT}.verify[0] must be ${WANT_CHECK} Did you mean links?`,
  ],
  [
    "a rule that is misspelled",
    project({ verify: [{ name: "hygiene", off: ["coment"] }] }),
    `${AT}.verify[0].off[0] must be a rule of hygiene, as docs/quality.md lists them. Did you mean comment?`,
  ],
  [
    "an address in place of a host",
    project({ network: { allow: ["https://registry.npmjs.org/"] } }),
    `${AT}.network.allow[0] must be the host alone: registry.npmjs.org, without https:// and a path.`,
  ],
  [
    "money without prices",
    { models: [MODEL], ...project({ budget: { usd: 1 } }) },
    `${AT}.budget.usd needs prices for the model claude. Add them under models[0].prices, or remove usd.`,
  ],
  [
    "an id that is there twice",
    { projects: [PROJECT, PROJECT] },
    'projects[1].id: projects[0].id is "docs", too. Choose another.',
  ],
  [
    "a variable of a shell in a path",
    { dataDir: "$HOME/data" },
    "dataDir must be a path without ~ and $: write it out.",
  ],
  [
    "a number as a text",
    { listen: { port: "4000" } },
    "listen.port must be a whole number from 0 to 65535 (a port).",
  ],
  [
    "a word for no containment",
    { containment: "off" },
    "containment must be required, or none if agents may see all that the service sees.",
  ],
  [
    "@ before a reviewer",
    project({ pullRequests: { reviewers: ["@anna"] } }),
    `${AT}.pullRequests.reviewers[0] must be a user name at the code host, or a team as owner/team, without @.`,
  ],
  [
    "projects by their names",
    { projects: { docs: PROJECT } },
    "projects must be a list of projects, each with id, repository and agent.",
  ],
];

/** Files that aren't right as a whole. */
const SERVICE_TEXTS: readonly (readonly [mistake: string, text: string, told: string])[] = [
  ["a tab", "listen:\n\tport: 1\n", "Line 2 must be indented with spaces, not tabs."],
  [
    "a setting twice",
    "dataDir: a\ndataDir: b\n",
    "Line 2 isn't valid YAML. This setting is there a second time. Remove one of the two.",
  ],
  [
    "no space after a colon",
    "dataDir:a\nlisten:\n  port: 1\n",
    "Line 1 isn't valid YAML. Write a space after the colon, and quotes around texts with special signs.",
  ],
  [
    "a text that begins with *",
    "dataDir: *.md\n",
    'Put quotes around texts that begin with *, such as "*.md". If they are aliases, write the values out.',
  ],
  [
    "an invisible space",
    "listen:\n  \u00a0port: 1\ndataDir: a\nprojects: []\n",
    "listen.?port has signs that no setting has, perhaps invisible ones. Type this line anew.",
  ],
];

describe("the job service's settings", () => {
  it.each(SERVICE_KINDS)("tell of %s", async (_, change, told) =>
    expect(await toldOfService(change)).toEqual([told]),
  );
  it.each(SERVICE_VARIATIONS)("tell of %s", { tags: "all" }, async (_, change, told) =>
    expect(await toldOfService(change)).toEqual([told]),
  );
  it.each(SERVICE_TEXTS)("tell of %s", { tags: "all" }, async (_, text, told) =>
    expect(await toldOfService(text)).toContain(told),
  );

  it("tell of a token in quotes, and of a file in UTF-16", async () => {
    expect(await toldOfService({}, { DOCS_TOKEN: '"a-token"' })).toEqual([
      `${AT}.codeHost.tokenEnv names DOCS_TOKEN, which has quotes around its value. Remove them.`,
    ]);
    const wide = Buffer.from("dataDir: a", "utf16le").toString("latin1");
    expect((await toldOfService(wide))[0]).toMatch(/^DIR\/service\.yml isn't UTF-8 text\. Save it as UTF-8/);
  });
});
