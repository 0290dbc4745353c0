import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { CheckedClaim } from "../../../service/runner/publish/checked-claim.ts";
import { repositoryAt } from "../../../service/runner/publish/hosted-pages.ts";
import { sourcesText } from "../../../service/runner/publish/sources-text.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

const CLI = "// The options.\nexport const options = [\n  '--json',\n  '--quiet',\n];\n";
const FILES = {
  ...START_FILES,
  "src/cli.ts": CLI,
  "docs/a (b) ü#?.md": "# A page\n\nThe flag --json prints JSON.\n",
  ":(glob)*.md": "words of a page with magic\n",
  "src/logo.png": "\u0000 the quoted words \u0000",
  "src/empty.md": "",
};
/** Writes a page, and then runs this with `file`, the path of the sources' file. */
const agentThat = (source: string) =>
  inlineAgent(`
    fs.writeFileSync("docs/new.md", "New\\n");
    const file = process.env.DOCS_AGENT_CLAIMS ?? process.env.TMPDIR + "/claims.json";
    ${source}
    console.log("Add a page");`);

function claim(source: object, over: object = {}) {
  const whole = { repository: "docs", path: "src/cli.ts", line: 1, quote: "export const options", ...source };
  return { page: "docs/new.md", statement: "The CLI has options.", source: whole, ...over };
}

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** What came of a turn whose agent names these sources. */
async function checked(world: World, claims: unknown[]): Promise<CheckedClaim[]> {
  const agent = agentThat(`fs.writeFileSync(file, ${JSON.stringify(JSON.stringify(claims))});`);
  const result = await world.run(world.project(agent));
  expect(result).toMatchObject({ kind: "pull-request" });
  return noted(world);
}

async function noted(world: World): Promise<CheckedClaim[]> {
  const note: unknown = JSON.parse(await readFile(world.dir.file("data/turns/job1.json"), "utf8"));
  return (note as { claims: CheckedClaim[] | null }).claims ?? [];
}

describe("the sources that an agent names", () => {
  it("are found where their words stand, whatever the white space, at the commit where the turn began", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const start = await world.inBare("rev-parse", "main");
    const at = `${world.codeHost.url}/acme/docs/blob/${start}`;
    const found = await checked(world, [
      claim({ quote: "options  = [ '--json'", line: 9 }),
      claim({ path: "docs/a (b) ü#?.md", quote: "The flag --json" }),
      claim({ path: ":(glob)*.md", quote: "words of a page" }),
      claim({ quote: "'--quiet', ]", line: null }),
    ]);
    expect(found.map(({ isFound, url }) => isFound && url)).toEqual([
      `${at}/src/cli.ts#L2-L3`,
      `${at}/docs/a%20%28b%29%20%C3%BC%23%3F.md#L3`,
      `${at}/%3A%28glob%29%2A.md#L1`,
      `${at}/src/cli.ts#L4-L5`,
    ]);
    expect(found[0]?.source).toEqual({ repository: "docs", path: "src/cli.ts", line: 2 });
  });

  it("aren't found elsewhere, in what isn't text, or by less than twelve characters", async () => {
    const link = "docs/link.md";
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const work = world.dir.file("work");
    await world.git("clone", "--quiet", world.bare, work);
    await world.git("-C", work, "config", "core.symlinks", "true");
    inTree(work, `ln -s ../src/cli.ts/the-quoted-words ${link} && truncate -s 50M src/large.md`);
    inTree(work, `printf 'the quoted words' >> src/large.md`);
    await world.git("-C", work, "add", "--all");
    await world.git("-C", work, "commit", "--quiet", "-m", "More");
    await world.git("-C", work, "push", "--quiet", world.bare, "HEAD:main");
    const claims = [
      claim({ quote: "export const other" }),
      claim({ quote: "options = [" }),
      claim({ quote: " options     =\n\n[   " }),
      claim({ path: "src/logo.png", quote: "the quoted words" }),
      claim({ path: "src/large.md", quote: "the quoted words" }),
      claim({ path: "src/empty.md", quote: "the quoted words" }),
      claim({ path: link, quote: "the-quoted-words" }),
      claim({ path: "src" }),
      claim({ path: "src/" }),
      claim({ path: "./src/cli.ts" }),
      claim({ path: "docs/../src/cli.ts" }),
      claim({ path: "../docs.git/config", quote: "repositoryformatversion" }),
      claim({ path: ".git/config", quote: "repositoryformatversion" }),
      claim({ path: "/etc/passwd", quote: "root:x:0:0:root" }),
      claim({ path: "src/cli.ts\n", quote: "export const options" }),
      claim({ path: "--name-only" }),
      claim({ path: "" }),
      claim({ path: "docs/new.md", quote: "New" }),
      claim({ repository: "cli" }),
      claim({ repository: "acme/docs" }),
      claim({ repository: "__proto__" }),
    ];
    const found = await checked(world, claims);
    expect(found.map(({ isFound, url }) => isFound || url !== null)).toEqual(claims.map(() => false));
    expect(await world.changed()).toEqual(["docs/new.md"]);
  });

  it("may be written by nobody's rules, in any number: what can't be read is left out", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const good = claim({ line: "three" });
    const odd = [null, 7, "text", [], {}, { ...good, page: 1 }, [[good]]];
    expect(await checked(world, [...odd, good, ...odd])).toHaveLength(1);
  });

  it("count as not found where a statement has none, or one that can't be read", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    world.codeHost.rules.privateRepositories.add("acme/docs");
    const good = claim({});
    const { source: _, ...without } = good;
    const long = claim({ path: "x".repeat(2000) });
    const found = await checked(world, [without, { ...good, source: null }, long, good]);
    expect(found.map(({ isFound }) => isFound)).toEqual([false, false, false, true]);
    expect(world.pulls()[0]?.body).toContain("4 statements, 1 with a source.");
    expect(world.pulls()[0]?.body).toContain("- `docs/new.md`: The CLI has options. – source not found\n");
  });

  it("show no secret, and nothing that is a link or a mention", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const statement = `Key ${world.token}\n@ana [here](https://evil.example) <img src=x> www.evil.example #1`;
    const found = await checked(world, [
      claim({}, { statement, page: `${world.token}.md` }),
      claim({ path: `${world.token}.md`, quote: world.token.repeat(3) }),
    ]);
    expect(JSON.stringify(found)).not.toContain(world.token);
    expect(await world.stored()).not.toContain(world.token);
    const text = sourcesText({ claims: found, isPublicPullRequest: false }).join("\n");
    expect(text).toContain("Key \\[secret\\] @\u200bana \\[here\\]\\(https:\u200b//evil.example\\)");
    expect(text).toContain("<\u200bimg src=x> www\u200b.evil.example #\u200b1");
    expect(text.match(/\]\((.*?)\)/g)).toEqual([
      expect.stringContaining(`](${world.codeHost.url}/acme/docs/`),
    ]);
  });

  const hostile: [string, string][] = [
    ["no file", ""],
    ["an empty file", `fs.writeFileSync(file, "");`],
    ["10 MB", `fs.writeFileSync(file, "[" + "1,".repeat(5e6) + "1]");`],
    ["a link", `fs.writeFileSync(file + "x", LIST); fs.symlinkSync(file + "x", file);`],
    ["a second name", `fs.writeFileSync(file + "x", LIST); fs.linkSync(file + "x", file);`],
    ["a link to a folder", `fs.symlinkSync("/etc", file);`],
    ["a folder", `fs.mkdirSync(file);`],
    ["a pipe", `(await import("node:child_process")).execFileSync("mkfifo", [file]);`],
    [
      "a link in place of its folder",
      `const dir = file.slice(0, file.lastIndexOf("/")); fs.renameSync(dir, dir + "x");
       fs.writeFileSync(dir + "x/claims.json", LIST); fs.symlinkSync(dir + "x", dir);`,
    ],
    ["no JSON", `fs.writeFileSync(file, "[{");`],
    ["deep JSON", `fs.writeFileSync(file, "[".repeat(4e5) + "]".repeat(4e5));`],
    ["an object", `fs.writeFileSync(file, '{"claims":' + LIST + "}");`],
  ];
  it.each(hostile)("count as none where the agent leaves %s", async (_what, source) => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const list = JSON.stringify(JSON.stringify([claim({})]));
    const result = await world.run(world.project(agentThat(`const LIST = ${list}; ${source}`)));
    expect(result).toMatchObject({ kind: "pull-request", claims: { total: 0, verified: 0 } });
  });

  it("are bounded in number and length", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const long = "x".repeat(4000);
    const some = Array.from({ length: 220 }, () => claim({}));
    const few = [claim({ quote: `export const options = [ ${long}` }, { statement: long, page: long })];
    const [first, ...others] = await checked(world, [...few, ...some]);
    expect([first?.statement.length, first?.page.length, others.length]).toEqual([300, 200, 199]);
    const flood = `fs.writeFileSync(file, "[" + "{},".repeat(1e5) + JSON.stringify(${JSON.stringify(claim({}))}) + "]");`;
    expect(await world.run(world.project(agentThat(flood)), { jobId: "job2" })).toMatchObject({
      claims: { total: 0, verified: 0 },
    });
  });

  it("are still told where the runner died right after the push", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    let isDown = true;
    world.api.fault = (request) =>
      isDown && request.startsWith("POST") ? { kind: "http", status: 503 } : undefined;
    const agent = agentThat(
      `fs.writeFileSync(file, ${JSON.stringify(JSON.stringify([claim({}), claim({ path: "no" })]))});`,
    );
    await expect(world.run(world.project(agent))).rejects.toThrow("The code host answered 503.");
    isDown = false;
    world.restart();
    const again = world.project(inlineAgent(`throw new Error("ran a second time");`));
    expect(await world.run(again)).toMatchObject({ kind: "pull-request", claims: { total: 2, verified: 1 } });
  });
});

describe("the text of the sources", () => {
  const one = (over: Partial<CheckedClaim> = {}): CheckedClaim => ({
    page: "docs/cli.md",
    statement: "The CLI has `--json`.",
    source: { repository: "docs", path: "src/cli.ts", line: 3 },
    isFound: true,
    url: "https://github.com/acme/docs/blob/0123/src/cli.ts#L3",
    isPublic: true,
    ...over,
  });
  const secret = { repository: "core", path: "plans/secret.ts", line: 1 };
  const hidden = one({ source: secret, url: null, statement: "The plan has a name.", isPublic: false });

  it("says what was found where, and what wasn't first", () => {
    const lost = one({ source: secret, isFound: false, url: null });
    expect(sourcesText({ claims: [one(), lost, hidden], isPublicPullRequest: false })).toEqual([
      "3 statements, 2 with a source.",
      "",
      "- `docs/cli.md`: The CLI has \\`--json\\`. – source not found (core: plans/secret.ts, line 1)",
      "- `docs/cli.md`: The CLI has \\`--json\\`. – source found: " +
        "[src/cli.ts, line 3](https://github.com/acme/docs/blob/0123/src/cli.ts#L3)",
      "- `docs/cli.md`: The plan has a name. – source found: core: plans/secret.ts, line 1",
    ]);
  });

  it("only counts in a public pull request what isn't public", () => {
    const lost = one({ source: { ...secret, repository: "docs" }, isFound: false, url: null });
    const lines = sourcesText({
      claims: [one(), lost, hidden, { ...hidden, isFound: false }],
      isPublicPullRequest: true,
    });
    expect(lines.slice(2)).toEqual([
      "- `docs/cli.md`: The CLI has \\`--json\\`. – source not found",
      expect.stringContaining("source found: [src/cli.ts, line 3]"),
      "- 2 in sources that aren't public, 1 found",
    ]);
    expect(lines.join()).not.toMatch(/plan|secret|core/);
  });

  it("stays short", () => {
    const many = Array.from({ length: 200 }, (_, n) => one({ isFound: n % 2 === 0 }));
    const lines = sourcesText({ claims: many, isPublicPullRequest: false });
    expect(lines).toHaveLength(13);
    expect(lines.at(-1)).toBe("- … and 190 more, 100 found");
    expect(sourcesText({ claims: [], isPublicPullRequest: true })).toEqual(["The agent named no sources."]);
    expect(sourcesText({ claims: [one()], isPublicPullRequest: true })[0]).toBe(
      "1 statement, 1 with a source.",
    );
  });
});

describe("a repository's place at the code host", () => {
  it.each([
    ["https://api.github.com", "https://github.com/acme/cli.git", "acme/cli"],
    ["https://api.github.com", "https://github.com/acme/cli", "acme/cli"],
    ["https://api.github.com/", "git@github.com:acme/cli.git", "acme/cli"],
    ["https://api.github.com", "ssh://git@github.com:22/acme/cli.git", "acme/cli"],
    ["https://code.example:8443/api/v3", "https://code.example:8443/acme/cli.git", "acme/cli"],
    ["https://example.com/code/api/v3/", "https://example.com/code/acme/cli.git", "acme/cli"],
    ["https://api.github.com", "https://github.com.evil.example/acme/cli.git", null],
    ["https://api.github.com", "https://gitlab.com/acme/cli.git", null],
    ["https://api.github.com", "git@evil.example:github.com/acme/cli.git", null],
    ["https://api.github.com", "https://github.com/acme/../cli", null],
    ["https://api.github.com", "https://github.com/acme/cli/tree/main", null],
    ["https://api.github.com", "/srv/git/github.com/acme/cli.git", null],
    ["https://code.example/rest", "https://code.example/acme/cli.git", null],
  ])("by the API %s, of %s is %s", (apiUrl, repository, name) => {
    const settings = { kind: "github" as const, apiUrl, owner: "a", repo: "b", tokenEnv: "T", token: null };
    const found = repositoryAt(settings, repository);
    expect(found && `${found.owner}/${found.repo}`).toBe(name);
  });
});

function inTree(cwd: string, script: string): void {
  execFileSync("sh", ["-c", script], { cwd });
}
