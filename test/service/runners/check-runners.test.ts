import { expect, it } from "vitest";
import { openServiceDatabase } from "../../../src/service/jobs/state-file.ts";
import { RunnerStore } from "../../../src/service/jobs/runner-store.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { ServiceFolder } from "../../support/service-process.ts";

const TIMEOUT_MS = 120_000;
const SAYS = { version: "1.2.0", protocol: 1, session: "s1", places: 4, free: 4 };

/** A folder with projects whose agent and check nobody installed on this machine. */
async function openFolder(settings: object, ...projects: object[]): Promise<ServiceFolder> {
  const folder = await ServiceFolder.open({}, { DOCS_GIT: "user:credentials-0123456789" });
  folder.change({
    containment: "none",
    ...settings,
    projects: projects.map((project) => ({
      id: "docs",
      repository: "./docs-repository",
      agent: { kind: "command", command: ["no-such-agent"] },
      verify: [{ name: "build", command: ["no-such-tool"] }],
      codeHost: { kind: "none" },
      ...project,
    })),
  });
  await folder.run("keys", "create", "--project", "docs");
  return folder;
}

/** Has a runner call that has these labels. */
async function call(folder: ServiceFolder, name: string, labels: string[]): Promise<void> {
  const clock = createSystemClock();
  const database = await openServiceDatabase({ dataDir: folder.dir.file("data") }, { clock });
  const store = new RunnerStore(database.db);
  store.saw(store.byName(name)?.id ?? "", { ...SAYS, labels }, clock.now());
  database.close();
}

async function check(folder: ServiceFolder) {
  const { code, stdout, stderr } = await folder.run("config", "check");
  expect(stderr.replaceAll(/^… .*\n/gm, "")).toBe("");
  const findings = stdout.split("\n").filter((line) => /^(?:ok|warn|FAULT) /.test(line));
  return { code, stdout, findings, about: (what: string) => findings.filter((each) => each.includes(what)) };
}

it(
  "without a runner of its own, looks for nothing that only a runner needs, and says who runs turns",
  async () => {
    // The sandbox is required, and must not be opened.
    await using folder = await openFolder({ jobsAtOnce: 0, containment: "required" }, {});
    const nobody = await check(folder);
    expect(nobody.code).toBe(1);
    expect(nobody.about("FAULT")).toEqual([
      "FAULT  service  runners: Nobody runs turns: jobsAtOnce is 0, and there is no runner elsewhere. " +
        "Add one: npm run service -- runners add <name> --all-projects",
    ]);
    await folder.run("runners", "add", "build-1", "--project", "docs");
    await call(folder, "build-1", []);
    const { code, stdout, findings } = await check(folder);
    expect({ code, end: stdout.split("\n").at(-2) }).toEqual({
      code: 0,
      end: "Turns can run if the models answer. Test them: --call-model",
    });
    expect(findings.filter((line) => !line.startsWith("warn"))).toEqual([
      `ok     service  dataDir: ${folder.dir.file("data")}`,
      "ok     service  runners: build-1",
      "ok     docs  runners: build-1",
      `ok     docs  runners elsewhere: Each needs on its own machine: ${folder.dir.file("docs-repository")} (repository)`,
      "ok     docs  model: none",
      "ok     docs  repository: branch main, and the service may push",
      "ok     docs  pages: docs covers 2 of 2 pages",
      "ok     docs  commits: by Docs Agent <docs-agent@noreply.invalid>",
      "ok     docs  admin key: there is one",
    ]);
  },
  TIMEOUT_MS,
);

it(
  "with one, says of runners only where there are any, and what each of them needs",
  async () => {
    await using folder = await openFolder({ labels: ["eu"] }, { gitCredentialsEnv: "DOCS_GIT" });
    const alone = await check(folder);
    expect(alone.about("runners")).toEqual([]);
    expect(alone.about("FAULT")).toEqual([
      expect.stringContaining("There is no program no-such-agent on the PATH."),
      expect.stringContaining("There is no program no-such-tool."),
    ]);
    await folder.run("runners", "add", "build-1", "--all-projects");
    await folder.run("runners", "add", "build-2", "--all-projects");
    await folder.run("runners", "remove", "build-2");
    const { about } = await check(folder);
    expect(about("runners")).toEqual([
      "ok     service  runners: the service's own (4 turns at once), build-1 (never seen)",
      "ok     docs  runners: the service's own, build-1 (never seen)",
      "ok     docs  runners elsewhere: Each needs on its own machine: DOCS_GIT (gitCredentialsEnv), " +
        `${folder.dir.file("docs-repository")} (repository)`,
    ]);
  },
  TIMEOUT_MS,
);

it(
  "names a project that no runner may run, for its labels or its name, and one whose runners are away",
  { tags: "all", timeout: TIMEOUT_MS },
  async () => {
    await using folder = await openFolder({ labels: ["eu"] }, { runners: { labels: ["eu", "large"] } });
    const labels =
      /docs {2}runners: No runner that may run this project has all the labels eu, large\. Start/;
    expect((await check(folder)).about("FAULT").join("\n")).toMatch(labels);
    await folder.run("runners", "add", "build-1", "--project", "docs");
    await call(folder, "build-1", ["eu"]);
    expect((await check(folder)).about("FAULT").join("\n")).toMatch(labels);
    await call(folder, "build-1", ["large", "eu"]);
    expect((await check(folder)).about("docs  runners:")).toEqual(["ok     docs  runners: build-1"]);
    await folder.run("runners", "drain", "build-1");
    expect((await check(folder)).about("docs  runners:")).toEqual([
      "ok     docs  runners: build-1 (draining)",
      "warn   docs  runners: None of these runners takes turns now, so they wait. Start or resume one: see runners.",
    ]);

    await using other = await openFolder({ jobsAtOnce: 0 }, {}, { id: "api" });
    await other.run("runners", "add", "build-1", "--project", "api");
    expect((await check(other)).about("docs  runners:")).toEqual([
      "FAULT  docs  runners: No runner may run this project. Add one: npm run service -- runners add <name> --project docs",
    ]);
  },
);
