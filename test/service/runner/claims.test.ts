import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { CheckedClaim } from "../../../src/service/runner/publish/checked-claim.ts";
import { createRedact } from "../../../src/service/base/redaction.ts";
import { checkSources } from "../../../src/service/runner/turn/claims/check-sources.ts";
import { repositoryAt } from "../../../src/service/runner/publish/hosted-pages.ts";
import { sourcesText } from "../../../src/service/runner/publish/sources-text.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

const CLI = "// The options.\nexport const options = [\n  '--json',\n  '--quiet',\n];\n";
const FILES = {
  ...START_FILES,
  "src/cli.ts": CLI,
  "docs/a (b) ü#?.md": "# A page\n\nThe flag --json prints JSON.\n",
  ":(glob)*.md": "words of a page with magic\n",
  "src/logo.png": "\u0000 the quoted words \u0000",
  "src/empty.md": "",
  "src/wait.go": "// The cache lives for\n// five minutes only.\nconst ports = 4000\n",
  "docs/other.mdx": "> The plan has\r\n> three\u00a0seats.\r\n",
  "docs/made.md": "<!-- Do not edit: made from src/cli.ts. -->\n\nThe plan has three seats.\n",
};
/** Writes a page, and then runs this with `file`, the path of the sources' file. */
const agentThat = (source: string) =>
  inlineAgent(`
    fs.writeFileSync("docs/new.md", "# CLI\\n\\nThe CLI has options.\\n");
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

const evidences = (claims: CheckedClaim[]) => claims.map(({ evidence }) => evidence);

describe("the sources that an agent names", () => {
  it("are found where their words stand, whatever their layout, as it was before the change", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const start = await world.inBare("rev-parse", "main");
    const at = `${world.codeHost.url}/acme/docs/blob/${start}`;
    const found = await checked(world, [
      claim({ quote: "const  options = [ '--json'", line: 9 }),
      claim({ quote: "options = [\n\t'--json',\n\t'--quiet', ]", line: null }),
      claim({ path: "src/wait.go", quote: "The cache lives for five minutes only." }),
      claim({ path: ":(glob)*.md", quote: "words of a page" }),
      claim({ path: "docs/a (b) ü#?.md", quote: "The flag --json prints" }),
      claim({ path: "docs/other.mdx", quote: "The plan has three seats." }),
    ]);
    expect(found.map(({ evidence, url }) => [evidence, url])).toEqual([
      ["code", `${at}/src/cli.ts#L2-L3`],
      ["code", `${at}/src/cli.ts#L2-L5`],
      ["code", `${at}/src/wait.go#L1-L2`],
      // Other pages say so, which proves nothing.
      ["page", `${at}/%3A%28glob%29%2A.md#L1`],
      ["page", `${at}/docs/a%20%28b%29%20%C3%BC%23%3F.md#L3`],
      ["page", `${at}/docs/other.mdx#L1-L2`],
    ]);
    expect(found[0]?.source).toMatchObject({ repository: "docs", path: "src/cli.ts", line: 2 });
    expect(world.pulls()[0]?.body).toContain("**Sources: 3 of 6 found**");
    expect(world.pulls()[0]?.body).toContain("– also said on [docs/other.mdx, line 1](");
  });

  it("of an answer without a change are looked up, and kept beside those of the change before", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    await checked(world, [claim({})]);
    const said = JSON.stringify([
      {
        statement: "It has --json.",
        source: { repository: "docs", path: "src/cli.ts", quote: "options = [ '--json', '--quiet'" },
      },
      claim({ quote: "export const other" }),
    ]);
    const agent = inlineAgent(`
      fs.writeFileSync(process.env.DOCS_AGENT_CLAIMS, ${JSON.stringify(said)});
      console.log("It has --json.");`);
    expect(await world.run(world.project(agent), { number: 2 })).toMatchObject({ kind: "no-changes" });
    const file = await readFile(world.dir.file("data/turns/job1.sources.json"), "utf8");
    const { claims } = JSON.parse(file) as { claims: CheckedClaim[] };
    expect(claims.map(({ statement, evidence }) => [statement, evidence])).toEqual([
      ["It has --json.", "code"],
      ["The CLI has options.", "none"],
    ]);
    expect(evidences(await noted(world))).toEqual(["code"]);
  });

  it("are found by the paths that tools show, and through links in the tree", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    await push(
      world,
      "ln -s ../src docs/code && ln -s code/cli.ts docs/link.ts && ln -s link.ts docs/far.ts",
      "ln -s loop src/loop && ln -s ../../.. src/up && ln -s /etc src/etc && ln -s cli.ts/x src/no.ts",
    );
    const links = ["docs/link.ts", "docs/code/cli.ts", "docs/far.ts"];
    const there = [
      "./src/cli.ts",
      "HERE/src/cli.ts",
      "docs/../src/cli.ts",
      "src/cli.ts:2",
      "HERE/src/cli.ts#L2-L3",
    ];
    const gone = ["src/loop", "src/up/etc/passwd", "src/etc/passwd", "src/no.ts", "HERE/../../etc/passwd"];
    const list = JSON.stringify([...links, ...there, ...gone].map((path) => claim({ path })));
    const agent = agentThat(
      `fs.writeFileSync(file, ${JSON.stringify(list)}.replaceAll("HERE", process.cwd()));`,
    );
    expect(await world.run(world.project(agent))).toMatchObject({ claims: { total: 13, verified: 8 } });
    const found = await noted(world);
    expect(evidences(found).toSorted()).toEqual([...Array(8).fill("code"), ...Array(5).fill("none")]);
    expect(new Set(found.flatMap(({ url }) => url ?? [])).size).toBe(1);
  });

  it("aren't found elsewhere, or in what says too little or is the change's own", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const claims = [
      claim({ quote: "export const other" }),
      claim({ quote: "const ports" }),
      claim({ quote: "[ '--json', '--' ]" }),
      claim({ quote: "DocumentationOptions" }),
      claim({ path: "src/wait.go", quote: "const ports = 400" }),
      claim({ path: "src/empty.md", quote: "the quoted words" }),
      claim({ path: "src" }),
      claim({ path: "src/" }),
      claim({ path: "../docs.git/config", quote: "repositoryformatversion = 0" }),
      claim({ path: ".git/config", quote: "repositoryformatversion = 0" }),
      claim({ path: "/etc/passwd", quote: "root:x:0:0:root:/root" }),
      claim({ path: "--name-only" }),
      claim({ path: "" }),
      claim({ path: "docs/new.md", quote: "The CLI has options." }),
      claim({ path: "docs/made.md", quote: "The plan has three seats." }),
      claim({ repository: "cli" }),
      claim({ repository: "acme/docs" }),
      claim({ repository: "__proto__" }),
    ];
    const found = await checked(world, claims);
    expect(evidences(found)).toEqual(claims.map(() => "none"));
    expect(found.every(({ url }) => url === null)).toBe(true);
    expect(await world.changed()).toEqual(["docs/new.md"]);
  });

  it(
    "are found in files of up to 50 MB, and aren't checked in what nobody could read",
    { tags: "all" },
    async () => {
      await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
      const words = "'the quoted words of it'";
      await push(
        world,
        `yes 'a line of filler' | head -c 20000000 > src/large.yaml && printf ${words} >> src/large.yaml`,
        `truncate -s 53M src/huge.yaml && printf ${words} >> src/huge.yaml`,
        `printf 'caf\\351 and more words\\n' > src/old.txt`,
      );
      const quote = "the quoted words of it";
      const found = await checked(world, [
        claim({ path: "src/large.yaml", quote }),
        claim({ path: "src/huge.yaml", quote }),
        claim({ path: "src/logo.png", quote }),
        claim({ path: "src/old.txt", quote: "café and more words" }),
      ]);
      const byPath = Object.fromEntries(found.map(({ source, evidence }) => [source.path, evidence]));
      expect(byPath).toEqual({
        "src/large.yaml": "code",
        "src/huge.yaml": "unread",
        "src/logo.png": "unread",
        "src/old.txt": "unread",
      });
      expect(world.pulls()[0]?.body).toContain("– source not checked");
      expect(world.pulls()[0]?.body).not.toContain("no source found");
    },
  );

  it(
    "count only for what the change says, and not by words that it brings or removes",
    { tags: "all" },
    async () => {
      const files = { ...FILES, "docs/api.yaml": "port: 4000 for now\n" };
      await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
      const turn = (jobId: string, number: number, prompt: string, claims: object[], script: string) =>
        world.run(
          world.project(
            agentThat(`fs.writeFileSync(file, ${JSON.stringify(JSON.stringify(claims))}); ${script}`),
          ),
          {
            jobId,
            prompt,
            earlierTurns: Array.from({ length: number - 1 }, () => ({ prompt: "a", summary: null })),
          },
        );
      const port = claim({ path: "docs/api.yaml", quote: "port: 4000 for now" });
      expect(
        await turn(
          "job1",
          1,
          "a",
          [
            port,
            claim({}, { page: "docs/gone.md" }),
            claim({}, { page: "README.md" }),
            claim({}, { statement: "Acme is certified by an authority." }),
          ],
          `fs.writeFileSync("docs/api.yaml", "port: 5000 from now on\\n");`,
        ),
      ).toMatchObject({ claims: { total: 1, verified: 0 } });
      const own = claim({ path: "docs/api.yaml", quote: "port: 5000 from now on" });
      expect(
        await turn(
          "job1",
          2,
          "b",
          [own, claim({ path: "docs/new.md", quote: "The CLI has options." })],
          `fs.appendFileSync("docs/new.md", "More.\\n");`,
        ),
      ).toMatchObject({ claims: { total: 2, verified: 0 } });
      expect(await turn("job2", 1, "a", [port], "")).toMatchObject({ claims: { total: 1, verified: 1 } });
    },
  );

  it("have each number, flag and name of the statement, or are marked as converted", async () => {
    const files = { ...FILES, "src/wait.ts": "export const WAIT_MS = 45_000; // --wait\n" };
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
    const source = { path: "src/wait.ts", quote: "export const WAIT_MS = 45_000;" };
    const statement = "The CLI has options: `--wait`, and 45 seconds.";
    const agent = (claims: unknown[]) =>
      inlineAgent(`
        fs.writeFileSync("docs/new.md", "# CLI\\n\\nThe CLI has options: \`--wait\`, and 45 seconds.\\n");
        fs.writeFileSync(process.env.DOCS_AGENT_CLAIMS, ${JSON.stringify(JSON.stringify(claims))});
        console.log("Add a page");`);
    const claims = [
      claim(source, { statement }),
      claim({ ...source, quote: "WAIT_MS = 45_000; // --wait" }, { statement: "The CLI has 45 seconds." }),
      claim(source, { statement: "The CLI has 45 seconds: options.", converted: true }),
    ];
    expect(await world.run(world.project(agent(claims)))).toMatchObject({
      claims: { total: 3, verified: 1 },
    });
    expect(evidences(await noted(world)).toSorted()).toEqual(["code", "partial", "partial"]);
    const body = world.pulls()[0]?.body ?? "";
    expect(body).toContain("the source doesn't have --wait, 45: [src/wait.ts, line 1](");
    expect(body).toContain("source found, with another form of the value: [src/wait.ts, line 1](");
  });

  it("may be the request, of which neither words nor names are shown", async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const said = (quote: string) => claim({ repository: "request", path: "of Ben", line: 7, quote });
    const claims = [said("the CLI got options last week"), said("the CLI lost its options")];
    const agent = agentThat(`fs.writeFileSync(file, ${JSON.stringify(JSON.stringify(claims))});`);
    const prompt =
      "Add the CLI\n\nThe rest of this prompt is quoted material from Slack.\n" +
      "Quoted message written by: Ben\n> fyi the CLI got\n> options last week";
    const result = await world.run(world.project(agent), { prompt, words: "Add the CLI" });
    expect(result).toMatchObject({ kind: "pull-request", claims: { total: 2, verified: 0 } });
    const body = world.pulls()[0]?.body ?? "";
    expect(body).toContain("**Sources: 0 of 2 found**");
    expect(body).toContain("The CLI has options. – said in Slack, not found in the code\n");
    expect(body).toContain("The CLI has options. – no source found\n");
    expect(body).not.toMatch(/Ben|last week|lost its/);
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
    const long = claim({ path: "x".repeat(3000) });
    const found = await checked(world, [without, { ...good, source: null }, long, good]);
    expect(evidences(found).toSorted()).toEqual(["code", "none", "none", "none"]);
    expect(world.pulls()[0]?.body).toContain("**Sources: 1 of 4 found**");
    expect(world.pulls()[0]?.body).toContain("- `docs/new.md`: The CLI has options. – no source found\n");
  });

  it("show no secret, and nothing that is a link or a mention", () => {
    const secret = "ghp_0123456789abcdef0123456789abcdef";
    const statement = `Key ${secret}\n@ana [here](https://evil.example) <img src=x> www.evil.example #1`;
    const options = "export const options";
    const source = (path: string, quote: string) => ({ repository: "docs", path, quote, line: null });
    const one = {
      page: "docs/new.md",
      statement,
      path: "src/cli.ts",
      evidence: "code" as const,
      converted: false,
    };
    const codeHost = { apiUrl: "https://api.github.com" };
    const found = checkSources(
      {
        claims: [
          { ...one, source: source("src/cli.ts", options) },
          { ...one, page: `${secret}.md`, path: `${secret}.md`, source: source(`${secret}.md`, options) },
        ],
        files: new Map([one.path, `${secret}.md`].map((path) => [path, { content: Buffer.from(CLI) }])),
        commit: "0123",
        at: { codeHost, hosted: { owner: "acme", repo: "docs" } },
        isPublic: true,
      },
      createRedact([secret]),
    );
    expect(evidences(found)).toEqual(["code", "code"]);
    expect(JSON.stringify(found)).not.toContain(secret);
    const text = sourcesText({ claims: found, isPublicPullRequest: false })?.lines.join("\n") ?? "";
    expect(text).toContain("Key \\[secret\\] @\u200bana \\[here\\]\\(https:\u200b//evil.example\\)");
    expect(text).toContain("<\u200bimg src=x> www\u200b.evil.example #\u200b1");
    expect(text.match(/\]\((.*?)\)/g)).toEqual(["](https://github.com/acme/docs/blob/0123/src/cli.ts#L2)"]);
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
  it.each(hostile)("count as none where the agent leaves %s", { tags: "all" }, async (_what, source) => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const list = JSON.stringify(JSON.stringify([claim({})]));
    const result = await world.run(world.project(agentThat(`const LIST = ${list}; ${source}`)));
    expect(result).toMatchObject({ kind: "pull-request", claims: { total: 0, verified: 0 } });
  });

  it("are bounded in number and length", { tags: "all" }, async () => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
    const long = "x".repeat(4000);
    const some = Array.from({ length: 220 }, () => claim({}));
    const few = [
      claim(
        { quote: `export const options = [ ${long}` },
        { statement: `The CLI has options. ${"- ".repeat(400)}` },
      ),
    ];
    const [first, ...others] = await checked(world, [...few, ...some]);
    expect([first?.statement.length, others.length]).toEqual([300, 199]);
    const flood = `fs.writeFileSync(file, "[" + "{},".repeat(1e5) + JSON.stringify(${JSON.stringify(claim({}))}) + "]");`;
    expect(await world.run(world.project(agentThat(flood)), { jobId: "job2" })).toMatchObject({
      claims: { total: 0, verified: 0 },
    });
  });

  it("are still told where the runner died right after the push", { tags: "all" }, async () => {
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
    source: { repository: "docs", path: "src/cli.ts", line: 3, quote: "" },
    evidence: "code",
    missing: [],
    converted: false,
    url: "https://github.com/acme/docs/blob/0123/src/cli.ts#L3",
    isPublic: true,
    ...over,
  });
  const secret = { repository: "core", path: "plans/secret.ts", line: 1, quote: "" };
  const hidden = one({ source: secret, url: null, statement: "The plan has a name.", isPublic: false });

  it("says what was found where, and what wasn't first", () => {
    const lost = one({ source: secret, evidence: "none", url: null });
    const unread = one({ evidence: "unread", url: null });
    const claims = [one(), one({ evidence: "page" }), unread, lost, hidden];
    const url = "https://github.com/acme/docs/blob/0123/src/cli.ts#L3";
    expect(sourcesText({ claims, isPublicPullRequest: false })).toEqual({
      found: "2 of 5 found",
      lines: [
        "- `docs/cli.md`: The CLI has \\`--json\\`. – no source found (core: plans/secret.ts, line 1)",
        "- `docs/cli.md`: The CLI has \\`--json\\`. – source not checked (src/cli.ts, line 3)",
        `- \`docs/cli.md\`: The CLI has \\\`--json\\\`. – also said on [src/cli.ts, line 3](${url})`,
        `- \`docs/cli.md\`: The CLI has \\\`--json\\\`. – source found: [src/cli.ts, line 3](${url})`,
        "- `docs/cli.md`: The plan has a name. – source found: core: plans/secret.ts, line 1",
      ],
    });
  });

  it("only counts in a public pull request what isn't public", () => {
    const lost = one({ source: { ...secret, repository: "docs" }, evidence: "none", url: null });
    const text = sourcesText({
      claims: [one(), lost, hidden, { ...hidden, evidence: "none" }],
      isPublicPullRequest: true,
    });
    expect(text?.lines).toEqual([
      "- `docs/cli.md`: The CLI has \\`--json\\`. – no source found",
      expect.stringContaining("source found: [src/cli.ts, line 3]"),
      "- 2 in sources that aren't public, 1 found",
    ]);
    expect(text?.lines.join()).not.toMatch(/plan|secret|core/);
  });

  it("stays short", () => {
    const many = Array.from({ length: 200 }, (_, n) => one({ evidence: n % 2 === 0 ? "code" : "none" }));
    const { found, lines } = sourcesText({ claims: many, isPublicPullRequest: false }) ?? { lines: [] };
    expect(found).toBe("100 of 200 found");
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe("- … and 190 more, 100 found");
    expect(sourcesText({ claims: [], isPublicPullRequest: true })).toBeNull();
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

/** Pushes what these lines do to the base branch. */
async function push(world: World, ...lines: string[]): Promise<void> {
  const work = world.dir.file("work");
  await world.git("clone", "--quiet", world.bare, work);
  for (const line of lines) execFileSync("sh", ["-c", line], { cwd: work });
  await world.git("-C", work, "config", "core.symlinks", "true");
  await world.git("-C", work, "add", "--all");
  await world.git("-C", work, "commit", "--quiet", "-m", "More");
  await world.git("-C", work, "push", "--quiet", world.bare, "HEAD:main");
}
