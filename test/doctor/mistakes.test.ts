import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readAppSettings } from "../../src/doctor/app-findings.ts";
import { envFileFindings } from "../../src/doctor/env-file-findings.ts";
import { inWords, type Mistake } from "../support/mistake.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { APP_TOKEN, BOT_TOKEN, SECRETS, SIGNING_SECRET } from "../support/world.ts";

const APP: Record<string, string> = {
  SLACK_BOT_TOKEN: BOT_TOKEN,
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
  DOCS_AGENT_BASE_URL: "https://jobs.example.com",
  DOCS_AGENT_PROJECT_ID: "docs",
  DOCS_AGENT_API_KEY: "docsagent_0123456789abcdef",
};
const WANT_BOT_TOKEN =
  "the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings.";
const WANT_KEY = "the project's admin API key from the job service.";
const WANT_URL =
  "DOCS_AGENT_BASE_URL must be the URL of the job service, with http:// or https:// before it and " +
  "without /v2 at its end.";
const WANT_APP_TOKEN =
  "an app-level token (xapp-…) with the scope connections:write, or leave it out to use HTTP.";
const WANT_PROJECTS =
  'DOCS_AGENT_PROJECTS must be a JSON array of 1 to 100 projects such as [{"name":"docs","id":"…"}], each ' +
  "with name, id and, where they differ, apiKey, baseUrl, idempotencyKeys and channels (ids of the channels " +
  "that use it)";
const WANT_STORE =
  "STORE_URL must be sqlite://path, such as sqlite://./data/docs-agent.sqlite, or redis://host:6379 for " +
  "several replicas (in a password, write # as %23, / as %2F, ? as %3F and % as %25), or " +
  "redis+sentinel://a,b,c/name, or memory://, which loses everything when the process ends.";
const PLACEHOLDER = "is still a placeholder. Set it to the real one.";
const HAS_QUOTES = "has quotes around its value. Remove them.";

function toldOfApp(change: Mistake[1]): string[] {
  const read = readAppSettings({ ...APP, ...(change as Record<string, string>) });
  const told = "faults" in read ? read.faults.map(inWords) : [];
  for (const secret of SECRETS) expect(told.join("\n")).not.toContain(secret);
  return told;
}

/** One of each kind. */
const APP_KINDS: readonly Mistake[] = [
  [
    "a token of another kind",
    { SLACK_BOT_TOKEN: "xoxp-1-2-abc" },
    `SLACK_BOT_TOKEN has a user token (xoxp-…). Set it to ${WANT_BOT_TOKEN}`,
  ],
  ["quotes, as Docker hands them on", { SLACK_BOT_TOKEN: `"${BOT_TOKEN}"` }, `SLACK_BOT_TOKEN ${HAS_QUOTES}`],
  [
    "a word of another form",
    { LOG_LEVEL: "INFO" },
    "LOG_LEVEL must be one of debug, info, warn, error. Did you mean info?",
  ],
  [
    "a required setting under another name",
    { SLACK_BOT_TOKEN: "", BOT_TOKEN },
    `SLACK_BOT_TOKEN is missing. Set it to ${WANT_BOT_TOKEN} Or give BOT_TOKEN, which is set, this name.`,
  ],
];

const APP_VARIATIONS: readonly Mistake[] = [
  [
    "the app-level token as the bot's",
    { SLACK_BOT_TOKEN: APP_TOKEN },
    `SLACK_BOT_TOKEN has an app-level token (xapp-…). Set it to ${WANT_BOT_TOKEN}`,
  ],
  [
    "a configuration token",
    { SLACK_BOT_TOKEN: "xoxe.xoxp-1-abc" },
    `SLACK_BOT_TOKEN has a user or configuration token (xoxe.xoxp-…). Set it to ${WANT_BOT_TOKEN}`,
  ],
  [
    "the bot token as the app's",
    { SLACK_APP_TOKEN: BOT_TOKEN },
    `SLACK_APP_TOKEN has a bot token (xoxb-…). Set it to ${WANT_APP_TOKEN}`,
  ],
  [
    "a token as the signing secret",
    { SLACK_SIGNING_SECRET: BOT_TOKEN },
    "SLACK_SIGNING_SECRET has a bot token (xoxb-…). Set it to the Signing Secret from Basic Information in your Slack app's settings (not needed if SLACK_APP_TOKEN is set).",
  ],
  [
    "a model's key as the service's",
    { DOCS_AGENT_API_KEY: "sk-ant-api03-abcdefgh" },
    `DOCS_AGENT_API_KEY has a model's key. Set it to ${WANT_KEY}`,
  ],
  [
    "a GitHub token as the service's key",
    { DOCS_AGENT_API_KEY: "ghp_0123456789" },
    `DOCS_AGENT_API_KEY has a GitHub token. Set it to ${WANT_KEY}`,
  ],
  [
    "the address as the key",
    { DOCS_AGENT_API_KEY: "https://jobs.example.com" },
    `DOCS_AGENT_API_KEY has an address. Set it to ${WANT_KEY}`,
  ],
  [
    "something else as a token",
    { SLACK_BOT_TOKEN: "hunter2" },
    `SLACK_BOT_TOKEN has something else. Set it to ${WANT_BOT_TOKEN}`,
  ],
  ["typographic quotes", { SLACK_BOT_TOKEN: `“${BOT_TOKEN}”` }, `SLACK_BOT_TOKEN ${HAS_QUOTES}`],
  ["quotes around words", { HELP_CONTACT: '"the docs team"' }, `HELP_CONTACT ${HAS_QUOTES}`],
  [
    "an invisible sign in a token",
    { SLACK_BOT_TOKEN: `${BOT_TOKEN}\u200b` },
    "SLACK_BOT_TOKEN has a character that no token or key has (U+200B). Copy it again.",
  ],
  [
    "a space in a token",
    { DOCS_AGENT_API_KEY: "docsagent_ 0123" },
    "DOCS_AGENT_API_KEY has a space that no token or key has (U+0020). Copy it again.",
  ],
  [
    "a header's word before the key",
    { DOCS_AGENT_API_KEY: "Bearer docsagent_0123" },
    "DOCS_AGENT_API_KEY begins with Bearer. Leave that out.",
  ],
  [
    "a variable that nothing fills in",
    { DOCS_AGENT_API_KEY: "${KEY}" },
    "DOCS_AGENT_API_KEY names something that nothing fills in here. Set it to the value itself.",
  ],
  ["a placeholder as a token", { SLACK_BOT_TOKEN: "xoxb-your-token" }, `SLACK_BOT_TOKEN ${PLACEHOLDER}`],
  ["a placeholder as a key", { DOCS_AGENT_API_KEY: "docsagent_…" }, `DOCS_AGENT_API_KEY ${PLACEHOLDER}`],
  [
    "a plural",
    { FOLLOW_UPS: "mentions" },
    "FOLLOW_UPS must be one of mention, ask, requester. Did you mean mention?",
  ],
  [
    "a longer form",
    { LOG_LEVEL: "warning" },
    "LOG_LEVEL must be one of debug, info, warn, error. Did you mean warn?",
  ],
  ["Python's true", { ALLOW_GUESTS: "True" }, "ALLOW_GUESTS must be true or false. Did you mean true?"],
  ["yes", { ALLOW_GUESTS: "yes" }, "ALLOW_GUESTS must be true or false."],
  ["no scheme", { DOCS_AGENT_BASE_URL: "127.0.0.1:4000" }, WANT_URL],
  ["the version in the address", { DOCS_AGENT_BASE_URL: "https://jobs.example.com/v2" }, WANT_URL],
  ["a call's whole address", { DOCS_AGENT_BASE_URL: "https://jobs.example.com/v2/agent/docs/job" }, WANT_URL],
  [
    "an address under a similar name",
    { DOCS_AGENT_BASE_URL: "", DOCS_AGENT_URL: "https://a.example.com" },
    `${WANT_URL.replace("must be", "is missing. Set it to")} Or give DOCS_AGENT_URL, which is set, this name.`,
  ],
  [
    "a misspelled name",
    { RETENTON_DAYS: "9" },
    "RETENTON_DAYS isn't a setting. Did you mean RETENTION_DAYS?",
  ],
  [
    "projects as words",
    { DOCS_AGENT_PROJECTS: "docs,api" },
    `${WANT_PROJECTS}, with double quotes and on one line.`,
  ],
  [
    "projects with single quotes",
    { DOCS_AGENT_PROJECTS: "[{'name':'docs','id':'docs'}]" },
    `${WANT_PROJECTS}, with double quotes and on one line.`,
  ],
  [
    "a project's setting that isn't one",
    { DOCS_AGENT_PROJECTS: '[{"name":"docs","id":"docs","url":"x"}]' },
    `${WANT_PROJECTS} (wrong: 0.url).`,
  ],
  ["another database", { STORE_URL: "postgres://db/x" }, WANT_STORE],
  ["a path without its scheme", { STORE_URL: "./data/x.sqlite" }, WANT_STORE],
  ["# in a password", { STORE_URL: "redis://:ab#cd@redis:6379" }, WANT_STORE],
  ["a name as Redis's database", { STORE_URL: "redis://redis:6379/docs" }, WANT_STORE],
  [
    "a unit in a number",
    { POLL_MIN_MS: "5s" },
    "POLL_MIN_MS must be a whole number of milliseconds, at least 1.",
  ],
  [
    "bounds the wrong way round",
    { POLL_MIN_MS: "9000", POLL_MAX_MS: "8000" },
    "POLL_MAX_MS must be at least POLL_MIN_MS, which is 9000.",
  ],
  ["no days", { RETENTION_DAYS: "0" }, "RETENTION_DAYS must be a whole number of days, at least 1."],
  ["a colon before the port", { PORT: ":3000" }, "PORT must be a port number, 0 to 65535."],
  [
    "a group as contact",
    { HELP_CONTACT: "<!channel>" },
    "HELP_CONTACT must be a person (<@U012ABCDEF>), a channel (<#C012ABCDEF>) or a few words.",
  ],
  [
    "an origin with a slash",
    { PULL_REQUEST_HTTP_ORIGINS: "http://git.internal/" },
    "PULL_REQUEST_HTTP_ORIGINS must be the origins of code hosts on your own network, separated by commas, such as http://git.internal:3000.",
  ],
  [
    "a proxy of another kind",
    { HTTPS_PROXY: "ftp://proxy:21" },
    "HTTPS_PROXY must be the http(s) URL of your proxy, such as http://proxy.internal:3128.",
  ],
];

describe("the Slack app's settings", () => {
  it.each(APP_KINDS)("tell of %s", (_, change, told) => expect(toldOfApp(change)).toEqual([told]));
  it.each(APP_VARIATIONS)("tell of %s", { tags: "all" }, (_, change, told) =>
    expect(toldOfApp(change)).toEqual([told]),
  );
});

const ENV_LINES: readonly (readonly [mistake: string, text: string | Buffer, told: string])[] = [
  [
    "a colon",
    "A: 1\nB=2\n",
    "Line 1 isn't NAME=value. Write each setting on one line, with nothing before its name.",
  ],
  [
    "set before names",
    "set A=1\nset B=2\n",
    "Lines 1, 2 aren't NAME=value. Write each setting on one line, with nothing before its name.",
  ],
  [
    "a list of YAML",
    "- A=1\n",
    "Line 1 isn't NAME=value. Write each setting on one line, with nothing before its name.",
  ],
  [
    "a value on several lines",
    "B=[\n{}\n]\n",
    "Lines 2, 3 aren't NAME=value. Write each setting on one line, with nothing before its name.",
  ],
  [
    "a quote that isn't closed",
    'A="abc\nB=2\n',
    "Line 1 opens a quote that nothing closes. Remove it: values need no quotes.",
  ],
  [
    "an empty setting below the filled one",
    "A=1\nB=2\nA=\n",
    "A is on lines 1 and 3, and the last one is empty. Remove that.",
  ],
  [
    "UTF-16, as PowerShell writes",
    Buffer.from("\ufeffA=1\n", "utf16le"),
    "PATH isn't UTF-8 text. Save it as UTF-8, in PowerShell with Set-Content -Encoding utf8.",
  ],
];

/** What the doctor says of a file with variables, and the variables that it reads there. */
async function readEnvFile(text: string | Buffer, set: Record<string, string> = {}) {
  await using dir = await openTempDir();
  const path = dir.file(".env");
  writeFileSync(path, text);
  const env = { ...set };
  const told = [...envFileFindings(path, env)].map((each) => inWords(each).replaceAll(path, "PATH"));
  return { told, env };
}

describe("a file with variables", () => {
  it("is read as people write it", async () => {
    const odd = "\ufeffA=1\r\nexport B='2'\r\n  C = 3 # three\r\nD=\"x\r\ny\"\r\n# E: 5\r\nF=\r\n";
    expect(await readEnvFile(odd)).toEqual({
      told: [],
      env: { A: "1", B: "2", C: "3", D: "x\ny", F: "" },
    });
    expect((await readEnvFile("A=1\n", { A: "2" })).told).toEqual([
      "the environment has another value for A, and that one counts Unset it there, or remove it from PATH.",
    ]);
  });

  it.each(ENV_LINES)("tells of %s", async (_, text, told) => {
    expect((await readEnvFile(text)).told).toEqual([told]);
  });
});
