import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { CHECK_PRESETS } from "../../../src/service/config/check-presets.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";
import { type Check, shellCheck } from "../../support/shell-check.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** Its findings don't block. */
function check(script: string, changes: Partial<Check> = {}): Check {
  return shellCheck(script, { blocking: false, ...changes });
}

/** Finds each "teh", with its line; exits with 1 if there is one. */
const FIND_TEH = `if grep -rnoi teh --include=*.md . | sed 's/$/ is misspelled/' | grep .; then exit 1; fi`;

function writes(files: Record<string, string>): string[] {
  return inlineAgent(
    `for (const [path, text] of Object.entries(${JSON.stringify(files)})) fs.writeFileSync(path, text); console.log("Fix it");`,
  );
}

async function checksOf(world: World, agent: string[], ...verify: Check[]) {
  const result = await world.run(world.project(agent, { verify }));
  expect(result.kind).toBe("pull-request");
  return "checks" in result ? result.checks : undefined;
}

const SOME_CHANGE = writes({ "docs/quickstart.md": "# Quickstart\n\nInstall it.\n" });

it("counts what is new, and not what was there and has moved", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = writes({ "README.md": "# Acme\n\nMore.\n\nTeh product.\n", "docs/new.md": "teh\nteh\n" });
  expect(await checksOf(world, agent, check(FIND_TEH))).toEqual([
    {
      name: "words",
      result: "failed",
      findings: ["./docs/new.md:teh is misspelled", "./docs/new.md:teh is misspelled"],
    },
  ]);
  expect(world.progress).toContain("checking: words");
});

it("passes where nothing is new, and where nothing is wrong", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const verify = [check(FIND_TEH), check("echo all is well", { name: "calm" })];
  expect(await checksOf(world, SOME_CHANGE, ...verify)).toEqual([
    { name: "words", result: "unchanged", findings: [] },
    { name: "calm", result: "passed", findings: [] },
  ]);
  expect(world.pulls()[0]?.body).toContain(
    "- words: nothing new; it fails without the change, too\n- calm: passed",
  );
});

it("believes a tool that fails before the change, too, only where something shows that it ran", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const says = (...lines: string[]) => lines.map((line) => `echo '${line}'`).join("; ") + "; exit 1";
  const finding = "docs/a.md:3:1 error MD001 Headings";
  const findingsAt = [1];
  const verify = [
    check(FIND_TEH, { name: "named", findingsAt }),
    check(FIND_TEH, { name: "another code", findingsAt: [2] }),
    check(says("Error: Cannot find module x"), { name: "module", findingsAt }),
    check(says('ERROR - The "nav" plugin is not installed'), { name: "plugin" }),
    check(says("Extension error:"), { name: "extension" }),
    check("", { name: "tool", command: ["sh", "markdownlint-cli2", says(finding)] }),
    check("", { name: "broken tool", command: ["sh", "markdownlint-cli2", says("SyntaxError: x")] }),
  ];
  await world.commitTo("main", { "markdownlint-cli2": 'eval "$1"\n' }, "A tool");
  const checks = await checksOf(world, SOME_CHANGE, ...verify);
  expect(checks?.map(({ name, result, findings }) => `${name}: ${result} ${findings.join()}`)).toEqual([
    "named: passed ",
    "another code: unchanged ",
    "module: not-checked It fails in the same way before the change. It says: Error: Cannot find module x",
    'plugin: not-checked It fails in the same way before the change. It says: ERROR - The "nav" plugin is not installed',
    "extension: not-checked It fails in the same way before the change. It says: Extension error:",
    "tool: passed ",
    "broken tool: not-checked It fails in the same way before the change. It says: SyntaxError: x",
  ]);
});

it("believes a preset only if its tool shows that it ran, on both sides", { tags: "all" }, async () => {
  const tool = "node_modules/@docusaurus/core/bin/docusaurus.mjs";
  const { settings } = CHECK_PRESETS.get("docusaurus") ?? { settings: { command: [] } };
  const site = check("", { name: "docusaurus", command: [...settings.command], blocking: true });
  const BUILT = 'console.log("[SUCCESS] Generated static files in build")';
  const resultWith = async (before: string, after: string) => {
    const files = { ...START_FILES, "docs/build.mjs": before, [tool]: 'import "../../../../docs/build.mjs"' };
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
    const [found] = (await checksOf(world, writes({ "docs/build.mjs": after }), site)) ?? [];
    return `${found?.result} ${found?.findings.join()}`;
  };
  const found = (pages: string) =>
    `console.log("[ERROR] Docusaurus found broken links!\\n${pages}"); process.exit(1);`;
  expect(await resultWith(BUILT, BUILT + ";")).toBe("passed ");
  expect(await resultWith(found("- /old"), found("- /old") + ";")).toBe("passed ");
  expect(await resultWith(found("- /old"), found("- /old\\n- /new"))).toBe("failed - /new");
  expect(await resultWith(BUILT, 'throw new Error("bad sidebar")')).toContain("failed ");
  expect(await resultWith('import "gone"', 'import "gone";')).toMatch(
    /^not-checked Nothing shows that it ran, with the change or without\. It says: .*Cannot find package 'gone'/,
  );
  expect(await resultWith('import "gone"', BUILT)).toMatch(
    /^not-checked Nothing shows that it ran before the change\./,
  );
  expect(await resultWith("", ";")).toBe(
    "not-checked Nothing shows that it ran, with the change or without.",
  );
});

it(
  "takes nothing for a finding that differs from run to run without the change, too",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const BROKEN = "docs/old.md: broken link ./gone.md";
    const bad = "grep -rn BAD docs; exit 1";
    const verify = [
      check(`echo "${BROKEN} (run $(head -c6 /dev/urandom | od -An -tx1 | tr -d ' \\n'))"; ${bad}`),
      check(`echo "$(mktemp -d)/${BROKEN}"; ${bad}`, { name: "temporary folder", findingsAt: [1] }),
      check(`echo "worker $$: ${BROKEN}"; ${bad}`, { name: "process" }),
      check(`seq 20 | shuf | sed 's/$/ is odd/'; ${bad}`, { name: "order" }),
      check(`grep -rho 'q[a-z]*' docs; tr -dc a-z < /dev/urandom | head -c 20; ${bad}`, { name: "all" }),
    ];
    const results = async (text: string, jobId: string) => {
      const result = await world.run(world.project(writes({ "docs/new.md": text }), { verify }), { jobId });
      const checks = "checks" in result ? result.checks : [];
      return checks?.map((each) => [each.result, ...each.findings]);
    };
    const varies = "It fails before the change, too, and what it says differs from run to run.";
    const tooMuch = "What it says differs from run to run, also without the change.";
    expect(await results("Fine\n", "job1")).toEqual([
      ["not-checked", varies],
      ["passed"],
      ["not-checked", varies],
      ["not-checked", varies],
      ["not-checked", tooMuch],
    ]);
    expect(await results("BAD\n", "job2")).toEqual([
      ...verify.slice(0, 4).map(() => ["failed", "docs/new.md:BAD"]),
      ["not-checked", tooMuch],
    ]);
  },
);

it(
  "counts places in pages, and progress lines where nothing else explains a failure",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const frames =
      "echo '    at docs/new.md:3:1'; echo '    at run (node_modules/x/index.md:1:2)'; echo '    at src/x.js:1:2'";
    const place = check(`test ! -e docs/new.md || { ${frames}; }; echo links are broken; exit 1`);
    const info = check("grep -rn BAD docs | sed 's/^/[INFO] /' | grep . && exit 1; exit 0", { name: "info" });
    expect(await checksOf(world, writes({ "docs/new.md": "BAD\n" }), place, info)).toEqual([
      { name: "words", result: "failed", findings: ["at docs/new.md"] },
      { name: "info", result: "failed", findings: ["[INFO] docs/new.md:BAD"] },
    ]);
  },
);

it("finds that a page switches a check off, where the check runs that tool", async () => {
  const files = { ...START_FILES, "docs/old.md": "<!-- vale off -->\nOld\n" };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const verify = ["markdownlint", "vale", "words"].map((name) => check("exit 0", { name, blocking: true }));
  const agent = writes({
    "docs/new.md": "# New\n\n<!-- markdownlint-disable -->\n",
    // It only moves.
    "docs/old.md": "Old\n\n<!-- vale off -->\n",
  });
  expect(await checksOf(world, agent, ...verify)).toEqual([
    {
      name: "markdownlint",
      result: "failed",
      findings: ["docs/new.md:3 turns a check off: <!-- markdownlint-disable -->"],
    },
    { name: "vale", result: "passed", findings: [] },
    { name: "words", result: "passed", findings: [] },
  ]);
  expect(world.pulls()).toMatchObject([{ isDraft: true }]);
});

it("knows a moved page's old findings", { tags: "all" }, async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(
    `fs.mkdirSync("docs/guide"); fs.renameSync("docs/quickstart.md", "docs/guide/start.md"); fs.appendFileSync("docs/guide/start.md", "teh\\n"); console.log("Move it")`,
  );
  const find = `grep -rnoE 'teh|Instal' docs && exit 1; exit 0`;
  expect(await checksOf(world, agent, check(find))).toEqual([
    { name: "words", result: "failed", findings: ["docs/guide/start.md:teh"] },
  ]);
});

it("compares with where the job began, over all of its turns", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(writes({ "docs/new.md": "teh\n" }), { verify: [check(FIND_TEH)] });
  await world.run(project);
  const next = world.project(SOME_CHANGE, { verify: project.verify });
  const earlierTurns = [{ prompt: "Fix the typo", summary: "Fix it" }];
  expect(await world.run(next, { prompt: "And this", earlierTurns })).toMatchObject({
    checks: [{ result: "failed", findings: ["./docs/new.md:teh is misspelled"] }],
  });
});

const cantRun: [string, Partial<Check>, string, string][] = [
  ["its program is missing", { command: ["no-such-tool"] }, "", "program no-such-tool isn't installed"],
  ["it takes too long", { timeoutSeconds: 1 }, "sleep 20", "took longer than 1 seconds"],
  ["a program of its own is missing", {}, "no-such-tool", "program isn't installed"],
  ["it is ended by a signal", {}, "kill -9 $$", "broke off"],
  ["it writes a gigabyte", {}, "head -c 1073741824 /dev/zero; exit 1", "wrote more than can be read"],
  ["it fails without a word", {}, "exit 1", "without saying why"],
  ["its folder isn't there", { cwd: "website" }, "true", "no folder website"],
  ["its mount isn't there", { mounts: [{ from: "/nowhere", at: "x" }] }, "true", "isn't installed"],
];

it.each(cantRun)("checks nothing when %s", async (_, changes, script, why) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const blocking = check(script, { blocking: true, ...changes });
  expect(await checksOf(world, SOME_CHANGE, blocking)).toEqual([
    { name: "words", result: "not-checked", findings: [expect.stringContaining(why)] },
  ]);
  expect(world.pulls()).toMatchObject([{ isDraft: false }]);
});

it(
  "says what a tool says of the change alone, also where it says it without a number",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const silent = check("test ! -e docs/new.md", { name: "silent" });
    const counts = check(
      `echo "Linting: $(ls docs | wc -l) files"; echo "$(grep -ri teh . | wc -l) errors"; exit 1`,
    );
    const wordless = check("test ! -e docs/new.md || { echo '!!! 12ms'; exit 1; }", { name: "wordless" });
    const agent = writes({ "docs/new.md": "teh\n" });
    expect(await checksOf(world, agent, silent, wordless, counts)).toEqual([
      { name: "silent", result: "failed", findings: ["It failed and didn't say why."] },
      { name: "wordless", result: "failed", findings: ["It failed and didn't say why."] },
      { name: "words", result: "failed", findings: ["Linting: 2 files", "2 errors"] },
    ]);
  },
);

it(
  "leaves out how a site's builder is getting on, and where in its code an error arose",
  { tags: "all" },
  async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const lines = [
      "\\033[32m[success]\\033[0m [webpackbar] Client: Compiled successfully in 1.18m",
      "[INFO] Docusaurus version: 3.10.2",
      "Node version: v24.21.0",
      "INFO    -  Building documentation...",
      "Server built in 2.5m",
      "[ERROR] Error: Unable to build website.",
      "    ... 4 lines matching cause stack trace ...",
      "    at async file:///site/node_modules/@docusaurus/core/bin/docusaurus.mjs:44:3 {",
      "- Broken link on source page path = /faq:",
    ];
    const says = lines.map((line) => `printf '%b\\n' '${line}'`).join("; ");
    const build = check(`test -e docs/new.md || { echo 'Server built in 1.5m'; exit 0; }; ${says}; exit 1`);
    expect(await checksOf(world, writes({ "docs/new.md": "x\n" }), build)).toMatchObject([
      { findings: ["[ERROR] Error: Unable to build website.", "- Broken link on source page path = /faq:"] },
    ]);
  },
);

it("sees nothing of the agent's: folders, variables, network", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    fs.writeFileSync(process.env.HOME + "/.toolrc", "x");
    fs.writeFileSync("toolrc", "not kept");
    fs.writeFileSync("README.md", "# Changed");
  `);
  const seen = check(
    `grep -q Changed README.md || exit 0; ls -A "$HOME" "$TMPDIR" | grep -v :; ls; env | grep -o MODEL_KEY;` +
      ` node -e 'require("net").connect(80, "1.1.1.1").on("connect", () => console.log("net"))' 2>/dev/null;` +
      ` grep -c : /proc/net/dev | sed "s/$/ network/"; exit 1`,
  );
  const checks = await checksOf(world, agent, seen);
  // What it lists is the repository, without what the agent left, and a loopback alone.
  expect(checks).toEqual([
    { name: "words", result: "failed", findings: ["README.md", "docs", "src", "1 network"] },
  ]);
});

it("commits nothing that a check writes, and gives each a tree of its own", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const litter = check("test ! -e docs/litter.md || exit 1; echo x | tee docs/litter.md README.md > src/y");
  const again = { ...litter, name: "again" };
  expect(await checksOf(world, SOME_CHANGE, litter, again)).toMatchObject([
    { result: "passed" },
    { result: "passed" },
  ]);
  expect(await world.changed()).toEqual(["docs/quickstart.md"]);
  expect(await readdir(world.dir.file("data/worktrees"))).toEqual([]);
});

it("is not hurt by a check that starts processes without end", { tags: "nightly" }, async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const bomb = check("f() { f | f & }; f; sleep 1; exit 1", { timeoutSeconds: 3 });
  const project = world.project(SOME_CHANGE, { verify: [bomb] });
  project.agent.limits.processes = 64;
  expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
});

it("redacts what a tool says, and bounds it", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const script = `grep -q Install docs/quickstart.md && { echo "key ${world.modelKey} ${"x".repeat(2000)}"; seq -f 'line-%.0f' 100; exit 1; }; exit 0`;
  const checks = await checksOf(world, SOME_CHANGE, check(script));
  expect(checks?.[0]?.findings).toHaveLength(5);
  expect(checks?.[0]?.findings.at(-1)).toBe("… and 97 more");
  expect(JSON.stringify(checks)).not.toContain(world.modelKey);
  expect(checks?.[0]?.findings[0]?.length).toBeLessThanOrEqual(300);
});

it("shows a folder of the operator's, whose lock file is the repository's", { tags: "all" }, async () => {
  const lock = { "website/package-lock.json": "{}\n", "website/page.md": "x\n" };
  await using world = await openRunnerWorld({ files: { "docs/quickstart.md": "x\n", ...lock } });
  const tools = world.dir.file("deps/node_modules/tool");
  await mkdir(tools, { recursive: true });
  await writeFile(`${tools}/run.sh`, "echo x > ../written 2>/dev/null; test -e page.md || exit 127; exit 0");
  await writeFile(world.dir.file("deps/package-lock.json"), "{}\n");
  const mounts = [{ from: world.dir.file("deps/node_modules"), at: "website/node_modules" }];
  const mounted = check("touch node_modules/x 2>/dev/null && exit 126; . node_modules/tool/run.sh", {
    cwd: "website",
    mounts,
  });
  expect(await checksOf(world, SOME_CHANGE, mounted)).toMatchObject([{ result: "passed" }]);
  expect(await readdir(world.dir.file("deps/node_modules"))).toEqual(["tool"]);

  await writeFile(world.dir.file("deps/package-lock.json"), "{ }\n");
  const project = world.project(SOME_CHANGE, { verify: [mounted] });
  expect(await world.run(project, { jobId: "job2" })).toMatchObject({
    checks: [{ result: "not-checked", findings: [expect.stringContaining("package-lock.json")] }],
  });
});

it.each([
  ["a mount's place", { mounts: [{ from: "/usr/share", at: "docs/lib/modules" }] }, "is a file or a link"],
  ["a check's folder", { cwd: "docs/lib" }, "no folder docs/lib"],
])("follows no link in %s", { tags: "all" }, async (_, changes, why) => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const work = world.dir.file("links");
  await world.git("clone", "--quiet", world.bare, work);
  await symlink("../src", `${work}/docs/lib`);
  await world.git("-C", work, "add", "--all");
  await world.git("-C", work, "commit", "--quiet", "-m", "A link");
  await world.git("-C", work, "push", "--quiet", "origin", "HEAD:main");
  expect(await checksOf(world, SOME_CHANGE, check("true", changes))).toMatchObject([
    { result: "not-checked", findings: [expect.stringContaining(why)] },
  ]);
});
