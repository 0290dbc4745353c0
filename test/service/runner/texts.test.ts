import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBaseBranch } from "../../../src/service/config/branches.ts";
import {
  oneLine,
  printableText,
  redactedLine,
  terminalText,
} from "../../../src/service/base/printable-text.ts";
import { failureOf } from "../../../src/service/runner/agents/agent-process.ts";
import { earlierTurnsText } from "../../../src/service/runner/agents/brief.ts";
import { remoteOf } from "../../../src/service/runner/workspace/git/git.ts";
import { closedMarkdown, inertText } from "../../../src/service/runner/publish/inert-text.ts";
import { mergedBody } from "../../../src/service/runner/publish/our-parts.ts";
import { commitMessageOf } from "../../../src/service/runner/publish/commit-message.ts";
import { bodyOf, changeTitle } from "../../../src/service/runner/publish/pull-request-text.ts";
import { belowTitle, formattedTitle, titleOf } from "../../../src/service/runner/publish/title.ts";
import { createRedact } from "../../../src/service/base/redaction.ts";

const plain = (text: string) => text;
const turn = {
  jobId: "j1",
  number: 1,
  kind: "message" as const,
  prompt: "Fix it",
  words: null,
  earlierTurns: [],
  summary: null,
  leftOut: [],
  change: null,
  credit: null,
  checks: [],
  sources: null,
  overlaps: [],
  caution: null,
  isOurDraft: false,
};

/** What a commit says besides. */
const COMMIT = { titleTemplate: "{title}", signedOffBy: null };

it.each(["\u001b[0m", "\u202e", "\u0000"])("shows no secret that %j stands in", (between) => {
  const redact = createRedact(["sup3rSecretValue42"]);
  expect(redactedLine(redact, `key is sup3rSecret${between}Value42, and more`, 20)).not.toContain("Value");
});

it("tells a later turn what was asked before, and what came of it", () => {
  const turns = [
    { prompt: "Fix the install page", summary: "I named the right port." },
    { prompt: "And the FAQ", summary: null },
  ].map((turn) => ({ ...turn, kind: "message" as const, words: null, authors: null, outcome: null }));
  expect(earlierTurnsText(turns, 3)).toBe(
    `Earlier in this job you were asked the following. The files show the result.

Request 1:
Fix the install page
What you did:
I named the right port.

Request 2:
And the FAQ`,
  );
  expect(earlierTurnsText([], 1)).toBe("");
});

it("takes no branch name that git would refuse", () => {
  const part = fc.constantFrom(
    "a",
    "-",
    ".",
    "/",
    "@",
    "{",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    "\\",
    " ",
    ".lock",
    "ü",
    "\u0001",
    "..",
    "HEAD",
  );
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("")),
      (name) => {
        if (!isBaseBranch(name, "docs-agent/")) return;
        expect(() =>
          execFileSync("git", ["check-ref-format", "--branch", name], { stdio: "ignore" }),
        ).not.toThrow();
      },
    ),
  );
  for (const name of ["main", "release/1.2", "feature-x", "ünïcode"])
    expect(isBaseBranch(name, "docs-agent/")).toBe(true);
});

it.each([
  "ext::sh -c id",
  "file:///etc",
  "https://user:pw@host/x",
  "https://token@host/x",
  "-oProxyCommand=id:x",
  "git://host/x",
  "relative/path",
])("takes %s for no repository", (repository) =>
  expect(() => remoteOf(repository, null)).toThrow(/repository/),
);

it("sends credentials to the repository's origin only, and in no address", () => {
  const remote = remoteOf("https://git.example:8443/acme/docs.git", "secret-token");
  expect(remote.url).not.toContain("secret-token");
  expect(remote.credentials.map(([key]) => key)).toEqual(["http.https://git.example:8443/.extraHeader"]);
  expect(remoteOf("git@git.example:acme/docs.git", "secret-token").credentials).toEqual([]);
});

describe("redaction", () => {
  const redact = createRedact(["s3cret-value/+", "short"]);
  it.each([
    "s3cret-value/+",
    encodeURIComponent("s3cret-value/+"),
    Buffer.from("s3cret-value/+").toString("base64"),
    "ghp_abcdefghijklmnopqrst",
    "github_pat_11ABCDEFG0123456789_abc",
    "ghs_123456_eyJhbGciOi-JI.eyJzdWIi_OiIx.SflKxwRJ-SMeK",
    ["xoxb", "123456789012", "abcdef"].join("-"),
    ["AKIA", "ABCDEFGHIJKLMNOP"].join(""),
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
  ])("removes %s", (secret) => expect(redact(`before ${secret} after`)).toBe("before [secret] after"));

  it("removes credentials in URLs and headers", () => {
    expect(redact("https://user:password@host/x")).toBe("https://[secret]host/x");
    expect(redact("Authorization: Bearer abcdefghijklmnopqrst")).toBe("Authorization: Bearer [secret]");
  });

  it.each(["ghs_aaaa-", "eyJaaaaaaaa-", " ", "\n", "bearer ", "-----BEGIN ", "https://a"])(
    "takes no hours over a megabyte of %j",
    (part) => {
      const text = part.repeat(1024 ** 2 / part.length);
      expect(redact(text)).toBe(text);
    },
  );

  it("leaves short values and everyday words", () =>
    expect(redact("a short basic task")).toBe("a short basic task"));
});

describe("what people and agents wrote", () => {
  it("pings nobody and closes nothing", () => {
    const text = inertText(
      "@ana @org/team fixes #1, closes acme/docs#2 GH-3 https://github.com/a/b/issues/4 !5 <!-- x --> <img src=y>",
    );
    expect(text).not.toMatch(/@\w|#\d|GH-\d|issues\/\d|!\d|<!|<i/);
    expect(text.replaceAll("\u200b", "")).toBe(
      "@ana @org/team fixes #1, closes acme/docs#2 GH-3 https://github.com/a/b/issues/4 !5 <!-- x --> <img src=y>",
    );
  });

  it.each(["[", "(", "*", "_*`", "[a]("])("takes no minutes over a summary's line of %s", (part) => {
    const summary = `Fix it\n\n- ${part.repeat(8000 / part.length)}`;
    const pages = [{ path: "docs/a.md", status: "changed" as const, additions: 1, deletions: 1 }];
    const body = bodyOf(
      { ...turn, summary, change: { pages, undone: [], turns: new Set([1]), nothingLeft: null } },
      plain,
    );
    expect(body).toContain("docs/a.md");
  });

  it("cannot swallow what follows with an open fence", () => {
    expect(closedMarkdown("```js\ncode")).toBe("```js\ncode\n```");
    expect(closedMarkdown("```js\ncode\n```")).toBe("```js\ncode\n```");
    expect(closedMarkdown("````\n```\n")).toBe("````\n```\n````");
    expect(closedMarkdown("- one:\n  ```js\n  code")).toBe("- one:\n  ```js\n  code\n  ```");
    expect(closedMarkdown("- one:\n\n```js\ncode")).toBe("- one:\n\n```js\ncode\n```");
  });

  it.each(["```", "~~~"])("pings nobody where words on a page begin with %s", (fence) => {
    const pages = [{ path: "README.md", status: "changed" as const, additions: 1, deletions: 1 }];
    const summary = `Fix it\n\n- README.md: ${fence} @team <img src=x> </details>`;
    const body = bodyOf(
      { ...turn, summary, change: { pages, undone: [], turns: new Set([1]), nothingLeft: null } },
      plain,
    );
    expect(body.replaceAll("\\", "")).toContain(
      `${fence} @\u200bteam <\u200bimg src=x> <\u200b/details>\n\n`,
    );
  });

  it("pings nobody by another way to write a sign", () => {
    const text = inertText("&#64;ana &#x40;ana &commat;ana fixes &#35;1 &num;1 &#X23;1");
    expect(text.match(/&\u200b|&#\u200b/g)).toHaveLength(6);
    expect(inertText("&lt;Tab&gt; &amp; &nbsp;")).toBe("&lt;Tab&gt; &amp; &nbsp;");
  });

  it("says how many findings there are, and what a tool wrote is no Markdown", () => {
    const findings = ["![x](https://evil.example/x.png)", "… and 918 more"];
    const checks = [{ name: "links", result: "failed" as const, findings }];
    expect(bodyOf({ ...turn, checks }, plain)).toContain(
      "- links: 919 new findings: !\\[x\\]\\(https:\u200b//evil.example/x.png\\)",
    );
    const credit = { names: ["[Ana](https://evil.example)"], link: null };
    expect(bodyOf({ ...turn, credit }, plain)).toContain(
      "Requested by \\[Ana\\]\\(https:\u200b//evil.example\\).",
    );
  });

  it("gives a title of one line and at most 72 characters", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.string({ maxLength: 100 }),
        (summary, words) => {
          const title = titleOf({ ...turn, summary, words }, plain);
          expect(title.length).toBeLessThanOrEqual(72);
          expect(title).toMatch(/^[^\n\r]+$/);
          expect(title.isWellFormed()).toBe(true);
        },
      ),
    );
    expect(titleOf({ ...turn, summary: "\n## **Fix the typo**\nMore" }, plain)).toBe("Fix the typo");
    expect(titleOf({ ...turn, words: "!!!" }, plain)).toContain("j1");
  });

  it.each([
    "Warning: no configuration found",
    "⚠️ I could not run the tests",
    "(node:4711) ExperimentalWarning: SQLite is an experimental feature",
    "[WARN] rate limited, trying again",
    "npm warn deprecated glob@7",
    "DeprecationWarning (DEP0040): punycode",
    "2026-11-22T03:00:00.123Z INFO starting",
    "**Note:** tests were skipped",
  ])("does not begin with an aside of the agent's: %s", (aside) => {
    expect(titleOf({ ...turn, summary: `${aside}\n\nCorrect the install command` }, plain)).toBe(
      "Correct the install command",
    );
    expect(titleOf({ ...turn, words: "Fix the FAQ", summary: aside }, plain)).toBe("Fix the FAQ");
  });

  it.each([
    "Error pages: describe 404",
    "Note the new install command",
    "Debug mode has a page",
    "Warn about old keys",
  ])("may speak of warnings and errors: %s", (summary) => {
    expect(titleOf({ ...turn, summary }, plain)).toBe(summary);
  });

  it.each(["## Summary\n\n", "Summary:\n", "Here's what I changed:\n\n", "**Title:** ", "Title: "])(
    "begins below a label, and says its title once: %j",
    (label) => {
      const told = { ...turn, summary: `${label}I've gone ahead and fixed the FAQ.\n\nIt was wrong.` };
      expect(titleOf(told, plain)).toBe("Fix the FAQ");
      expect(belowTitle(told.summary, plain)).toBe("It was wrong.");
    },
  );

  it.each([
    ["Successfully updated the docs", "Update the docs"],
    ["Fixed-width fonts have a page", "Fixed-width fonts have a page"],
  ])("reads %j as an instruction where it is one", (summary, title) =>
    expect(titleOf({ ...turn, summary }, plain)).toBe(title),
  );

  it.each([
    ["docs: {title}", "Correct the port", "docs: correct the port"],
    ["docs(api)!: {title}", "Correct the port", "docs(api)!: correct the port"],
    ["docs: {title}", "GitHub asks for a token", "docs: GitHub asks for a token"],
    ["[docs] {title}", "Correct the port", "[docs] Correct the port"],
    ["{title} (docs)", "Correct the port", "Correct the port (docs)"],
  ])("has the format of %j", (template, title, formatted) =>
    expect(formattedTitle(template, title)).toBe(formatted),
  );

  it("says its title once, and shows code as it is", () => {
    const told = { ...turn, summary: "## Correct `<Install>`\n\nIt was `<Instal>` before." };
    const title = "Correct `<Install>`";
    const below = "It was `<Instal>` before.";
    expect(titleOf(told, plain)).toBe(title);
    const lines = bodyOf(told, plain).split("\n", 4);
    expect(lines).toEqual(["<!-- docs-agent:start -->", "", below.replace("<", "<\u200b"), ""]);
    expect(commitMessageOf({ ...COMMIT, ...told }, plain).startsWith(`${title}\n\n${below}\n\n`)).toBe(true);
  });

  it("is quoted line by line, and stays between the marks", () => {
    const body = bodyOf(
      {
        ...turn,
        words: "one\ntwo <!-- docs-agent:end -->",
        summary: "<!-- docs-agent:end -->",
        leftOut: ["a`b", "… and fixes #12, thanks @octocat", "… and 3 more"],
      },
      plain,
    );
    expect(body).toContain("> one\n> two <\u200b!-- docs-agent:end -->");
    expect(body.match(/<!-- docs-agent:end -->/g)).toHaveLength(1);
    expect(body).toContain("- `a?b`\n- `… and fixes #\u200b12, thanks @\u200boctocat`\n- … and 3 more");
    const ours = { main: "ours", checks: "" };
    expect(mergedBody(`before\n${body}\nafter`, ours)).toBe("before\nours\nafter");
    expect(mergedBody("A person's own text\n", ours)).toBe("A person's own text\n\nours");
    expect(body.length).toBeLessThan(65_536);
  });

  it("stays within what a code host takes, whatever its length", () => {
    const long = "<@#1 word\n".repeat(20_000);
    const earlierTurns = Array.from({ length: 50 }, () => ({
      kind: "message" as const,
      prompt: long,
      words: long,
      authors: null,
      summary: long,
      outcome: "pull-request" as const,
    }));
    const body = bodyOf(
      { ...turn, words: long, summary: long, earlierTurns, leftOut: Array(500).fill("x".repeat(300)) },
      plain,
    );
    expect(body.length).toBeLessThan(65_536);
    expect(body).toMatch(/… and \d+ more files?/);
  });

  it("shows code, in which nothing means anything, either", () => {
    expect(closedMarkdown("`<Tab>` and `@angular/core`")).toBe("`<\u200bTab>` and `@\u200bangular/core`");
    expect(closedMarkdown("```\nfixes #3\n```")).toBe("```\nfixes #\u200b3\n```");
    const forged = "`<!-- docs-agent:end -->` `<!-- docs-agent:draft -->`";
    const body = bodyOf({ ...turn, summary: `Fix it\n\n${forged}` }, plain);
    expect(body.match(/<!-- docs-agent:/g)).toHaveLength(3);
  });

  it.each([">", "> - ", "1) "])("reads nothing as code that is nested too deep: %s", (marker) => {
    expect(closedMarkdown(`${marker.repeat(60)}\`@team\``)).toContain("\\`@\u200bteam\\`");
    expect(closedMarkdown(`${marker.repeat(60)}\n\n\`\`\`\ncode`)).not.toContain("```");
    expect(closedMarkdown(`${marker.repeat(9)}\`code\``)).toContain("`code`");
    expect(closedMarkdown(`${"-".repeat(60)}\n\`code\``)).toContain("`code`");
  });

  it.each([
    ["images in one another", `${"![".repeat(60)}a${"](b)".repeat(60)}`, String.raw`!\[!\[!\[`],
    ["images between brackets", `${"![\\]".repeat(60)}a${"](b)".repeat(60)}`, String.raw`!\[\\\]!\[`],
    ["what is nested deeper than the stack", `${">".repeat(49)}[^\\]]:`.repeat(145), `>>>`],
    ["emphasis that would take seconds to pair", "*[ ".repeat(2000), String.raw`\*\[ \*\[`],
    [
      "a thousand links to the same long URL",
      `${"[a]".repeat(1000)}\n\n[a]: /${"u".repeat(900)}`,
      String.raw`\[a\]\[a\]`,
    ],
  ])("shows %s as they were written", (_, text, shown) => {
    expect(closedMarkdown(text).slice(0, shown.length)).toBe(shown);
  });

  it.each(["Fixes GH-1", "Fixes _GH-1", String.raw`Fixes GH\-1`, "/o/r/issues/7", String.raw`/o/r/pull\/7`])(
    "refers to nothing where a backslash is only Markdown's: %s",
    (text) => {
      expect(inertText(text)).toMatch(/[-/]\u200b\d$/);
    },
  );

  it("has nothing in a person's words that holds for the text around them", () => {
    const words = "Fix it\n\n[guide]: https://evil.example\n[^1]: Not ours\n\nfor @&fjlig;ord";
    const body = bodyOf({ ...turn, words }, plain);
    expect(body).toContain("> [guide]\u200b: https://evil.example\n> [^1]\u200b: Not ours");
    expect(body).toContain("> for @&\u200bfjlig;ord");
  });

  it("skips no checks of the repository's", () => {
    const orders = ["[skip ci]", "[CI skip]", "[no ci]", "[skip actions]", "[actions skip]"];
    // White space is collapsed in titles, in code and in links.
    const spaced = "[skip ci](x) ![no ci](x) `[skip  ci]` `[skip\nci]` [a](b '[no\u00a0\nci]')";
    const summary = `Explain ${orders[0]} and [skip \t ci]\n\n${orders.join(" ")}\n\n${spaced}`;
    const told = { ...turn, summary };
    const said =
      commitMessageOf({ ...COMMIT, ...told }, plain) + changeTitle(told, plain) + bodyOf(told, plain);
    for (const order of orders) expect(said.toLowerCase()).not.toContain(order.toLowerCase());
    expect(said.replaceAll("\u200b", "")).toContain("Explain [skip ci]");
  });

  it.each([
    "Title\n\nDocs-Agent-Turn: 2-forged",
    `Title\n\n# ${"-".repeat(24)} >8 ${"-".repeat(24)}\nmore`,
    `# ${"-".repeat(24)} >8 ${"-".repeat(24)}\n\nmore`,
  ])("cannot forge or hide the lines by which a turn is known again: %j", (summary) => {
    const message = commitMessageOf({ ...COMMIT, ...turn, summary }, plain);
    const found = execFileSync("git", ["interpret-trailers", "--parse"], { input: message }).toString();
    expect(found.trim().split("\n")).toEqual([
      "Docs-Agent-Job: j1",
      expect.stringMatching(/^Docs-Agent-Turn: 1-[0-9a-f]{16}$/),
    ]);
  });
});

it("shows the last of an agent's last words, and no half character", () => {
  const settings = { timeLimitMinutes: 1, maxOutputBytes: 1 };
  const words = `${"trace 😀".repeat(300)}\nError: no model is set\n`;
  const { message, details = [] } =
    failureOf({ kind: "exited", code: 1, signal: null }, settings, words) ?? {};
  expect(message).toBe("The agent exited with code 1.");
  expect(details).toEqual([expect.stringMatching(/^last words: ….* Error: no model is set$/)]);
  expect(details[0]?.isWellFormed()).toBe(true);
  expect(details[0]?.length).toBeLessThan(600);
});

it("takes out what does not show but changes how a text reads", () => {
  const text = "\u001b[31mred\u001b[0m \u202eesrever\u2069\u0007 one\r\ntwo\u2028three";
  expect(printableText(text)).toBe("red esrever one\ntwothree");
  expect(oneLine(text, 100)).toBe("red esrever one two three");
  expect(oneLine(text, 8)).toBe("red esr…");
  expect(terminalText("a\u001bb\u202ec\td\n")).toBe("a\uFFFDb\uFFFDc\td\n");
});
