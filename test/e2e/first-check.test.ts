import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { check as checkAll } from "../../src/app/check.ts";
import { loadConfig } from "../../src/app/config/config.ts";
import { AppProcess, readiness } from "../support/app-process.ts";
import { startJobServiceSide, type JobServiceSideOptions } from "../../world/job-service/side.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { freePort } from "../support/redis-server.ts";
import { TELLS_CHANGES } from "../support/service-kinds.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { APP_TOKEN, DOCS, SECRETS, environment, startSlackSide } from "../support/world.ts";

/** Nothing listens there. */
const NOWHERE = `http://127.0.0.1:${await freePort()}/`;
const program = { file: "src/app/main.ts", args: ["--check"], readyMessage: "never" };

type Sides = { offers?: JobServiceSideOptions; withoutScopes?: readonly string[] };

async function startSides({ offers = {}, withoutScopes = [] }: Sides = {}) {
  const resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const slack = resources.use(await startSlackSide({ withoutScopes }));
  const service = resources.use(await startJobServiceSide(offers));
  // Any port, because several of these run at once.
  const env = {
    ...environment(slack, service),
    PORT: "0",
    STORE_URL: `sqlite://${dir.file("state.sqlite")}`,
  };
  /** What the check writes, line by line, and whether it is fine. */
  async function check(settings: Record<string, string> = {}) {
    let written = "";
    const isFine = await checkAll(loadConfig({ ...env, ...settings }), {
      clock: new ManualClock(),
      write: (line) => (written += line),
    });
    for (const secret of SECRETS) expect(written).not.toContain(secret);
    return { lines: written.trimEnd().split("\n"), isFine };
  }
  return { resources, dir, slack, service, env, check };
}

describe.concurrent("npm start -- --check", () => {
  it("says that Slack, the store and the job service can be used, and changes nothing", async () => {
    const { resources, dir, service, slack, env } = await startSides();
    await using _resources = resources;
    for (const socket of [{}, { SLACK_APP_TOKEN: APP_TOKEN }]) {
      await using app = new AppProcess({ env: { ...env, ...socket }, program });
      expect(await app.exit()).toBe(0);
      expect(app.stderr).toBe("");
      const lines = app.stdout.trimEnd().split("\n");
      const socketMode = "SLACK_APP_TOKEN" in socket ? ["Slack opens a connection"] : [];
      expect(lines).toEqual([
        expect.stringMatching(/^ok {5}Slack: the app is \S+ in ./),
        "ok     Scopes: the app has all of them",
        ...socketMode.map((found) => `ok     Socket Mode: ${found}`),
        `ok     Store: ${dir.file("state.sqlite")} will be created`,
        expect.stringMatching(/^ok {5}Port: \S+ port \d+ is free$/),
        expect.stringMatching(
          /^warn {3}Job service \(project docs\): http\S+ answers\. Couldn't test the API key and the project/,
        ),
      ]);
    }
    expect(service.calls.map(({ op }) => op)).toEqual(["get", "get"]);
    expect(slack.messages(DOCS)).toEqual([]);
    await slack.until(() => slack.socketMode.connections === 0);
    expect(existsSync(dir.file("state.sqlite"))).toBe(false);
  });

  it("names channels and groups that Slack doesn't know, and the scopes to look them up", async () => {
    const { resources, slack, check } = await startSides({ withoutScopes: ["groups:read"] });
    await using _resources = resources;
    slack.workspace.addGroup({ id: "S0WRITERS", handle: "writers", name: "Writers", users: [] });
    const about = ({ lines }: { lines: string[] }) => lines.filter((line) => / Access:|ALLOW_/.test(line));
    const some = await check({ ALLOW_CHANNELS: `${DOCS},C0NONE`, ALLOW_GROUPS: "S0WRITERS,S0NONE" });
    expect(some.isFine).toBe(true);
    expect(about(some)).toEqual([
      "warn   Scopes: ALLOW_CHANNELS needs groups:read, too. Add them, and reinstall the app.",
      "warn   Access: Slack doesn't give C0NONE of ALLOW_CHANNELS (channel_not_found). Check the id, " +
        "and invite the app if the channel is private.",
      "warn   Access: Slack doesn't give S0NONE of ALLOW_GROUPS (no_such_subteam). Check the id.",
    ]);
    const nobody = await check({ ALLOW_GROUPS: "S0NONE" });
    expect(nobody.isFine).toBe(false);
    expect(about(nobody).at(-1)).toBe(
      "FAULT  Access: Nobody can use the app, because Slack gives none of the groups in ALLOW_GROUPS.",
    );
    expect(about(await check({ ALLOW_GROUPS: "S0WRITERS" }))).toEqual([
      "ok     Access: Slack knows every channel and group that the settings name",
    ]);
  });

  it("says whether a job service with a feed has the project", async () => {
    const { resources, check } = await startSides({ offers: TELLS_CHANGES });
    await using _resources = resources;
    const right = await check();
    expect(right.isFine).toBe(true);
    expect(right.lines.at(-1)).toMatch(/it answers, accepts the API key, and has the project$/);
    const wrong = await check({ DOCS_AGENT_PROJECT_ID: "nope" });
    expect(wrong.isFine).toBe(false);
    expect(wrong.lines.at(-1)).toMatch(
      /^FAULT {2}Job service \(project nope\): it has no such project\. Correct ./,
    );
  });

  it("fails where Slack or the job service can't be used, and says what to do", async () => {
    const { resources, check } = await startSides();
    await using _resources = resources;
    const page = createServer((_, response) => void response.end("<h1>Hello</h1>")).listen(0, "127.0.0.1");
    resources.defer(() => void page.close());
    await once(page, "listening");
    const address = page.address();
    const pageUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const cases: [settings: Record<string, string>, line: RegExp][] = [
      [
        { SLACK_BOT_TOKEN: "xoxb-wrong" },
        /^FAULT {2}Slack: Slack refuses SLACK_BOT_TOKEN \(invalid_auth\)\. Copy it again/,
      ],
      [
        { SLACK_APP_TOKEN: "xapp-wrong" },
        /^FAULT {2}Slack: Slack refuses SLACK_APP_TOKEN \(invalid_auth\)\. Copy it again/,
      ],
      [{ SLACK_API_URL: NOWHERE }, /^FAULT {2}Slack: Slack can't be reached \(ECONNREFUSED\)\. Check/],
      [
        { SLACK_SIGNING_SECRET: "0123456789abcdef" },
        /^FAULT {2}Slack: SLACK_SIGNING_SECRET isn't a signing secret, which has 32 characters .* Copy it/,
      ],
      [
        { DOCS_AGENT_API_KEY: "wrong" },
        /^FAULT {2}Job service \(project docs\): The job service refuses the API key\. Set DOCS_AGENT_API_KEY to a key/,
      ],
      [
        { DOCS_AGENT_BASE_URL: NOWHERE },
        /: Nothing answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start the job service, or correct DOCS_AGENT_BASE_URL\.$/,
      ],
      [
        { DOCS_AGENT_BASE_URL: pageUrl },
        /: http:\/\/127\.0\.0\.1:\d+ answers, but isn't a job service\. Check DOCS_AGENT_BASE_URL\.$/,
      ],
    ];
    for (const [settings, line] of cases) {
      const { lines, isFine } = await check(settings);
      expect(lines.filter((each) => each.startsWith("FAULT"))).toEqual([expect.stringMatching(line)]);
      expect(isFine).toBe(false);
    }
  });

  it("fails if the app lacks a scope that it can't do without, and names optional ones", async () => {
    const { resources, env } = await startSides({ withoutScopes: ["users:read", "files:read"] });
    await using _resources = resources;
    await using app = new AppProcess({ env, program });
    expect(await app.exit()).toBe(1);
    const lines = app.stdout.split("\n");
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^FAULT {2}Scopes: The app lacks the scope users:read\. Add .* reinstall the app\./,
      ),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn {3}Scopes: .* files:read \(images and files stay/),
    );
  });

  it("fails if Socket Mode's connection says nothing", { tags: "all" }, async () => {
    const { resources, slack, check } = await startSides();
    await using _resources = resources;
    slack.socketMode.withholdHello(1);
    const { lines, isFine } = await check({ SLACK_APP_TOKEN: APP_TOKEN });
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^FAULT {2}Socket Mode: Slack doesn't open a connection \(no hello within 10 s\)\./,
      ),
    );
    expect(isFine).toBe(false);
  });

  it("fails if the store can't be used, and leaves it as it is", async () => {
    const { resources, dir, check } = await startSides();
    await using _resources = resources;
    mkdirSync(dir.file("folder"));
    writeFileSync(dir.file("text"), "This is a text, and no database at all.".repeat(100));
    const foreign = new DatabaseSync(dir.file("foreign"));
    foreign.exec("CREATE TABLE theirs (x)");
    foreign.close();
    const newer = new DatabaseSync(dir.file("newer"));
    newer.exec(`PRAGMA application_id = ${0x44634167}; PRAGMA user_version = 999; CREATE TABLE t (x)`);
    newer.close();
    for (const [file, problem] of [
      ["folder", "cannot be opened"],
      ["text", "isn't a SQLite database"],
      ["text/state.sqlite", "nothing can be written to"],
      ["foreign", "another program's SQLite database"],
      ["newer", "the file has schema version 999"],
    ] as const) {
      const { lines, isFine } = await check({ STORE_URL: `sqlite://${dir.file(file)}` });
      expect(lines).toContainEqual(expect.stringMatching(`^FAULT {2}Store: .*${problem}`));
      expect(isFine).toBe(false);
    }
    const kept = new DatabaseSync(dir.file("newer"), { readOnly: true });
    expect(kept.prepare("PRAGMA user_version").get()).toEqual({ user_version: 999 });
    kept.close();
    const away = await check({ STORE_URL: NOWHERE.replace("http", "redis").slice(0, -1) });
    expect(away.lines).toContainEqual(
      expect.stringMatching(/^FAULT {2}Store: The store redis:.*ECONNREFUSED/),
    );
  });

  it(
    "takes the store of the running app for a good one, and opens no second connection",
    { tags: "all" },
    async () => {
      const { resources, slack, env, check } = await startSides();
      await using _resources = resources;
      await using app = new AppProcess({ env: { ...env, SLACK_APP_TOKEN: APP_TOKEN } });
      await app.ready();
      const { lines, isFine } = await check({ SLACK_APP_TOKEN: APP_TOKEN });
      expect(lines).toContain("ok     Store: in use by the running Docs Agent");
      expect(lines).toContain("ok     Socket Mode: not tried while Docs Agent uses the store");
      expect(isFine).toBe(true);
      expect(Math.max(...slack.socketMode.connectionCounts)).toBe(1);
    },
  );

  it("warns of a contact that Slack shows as plain words", { tags: "all" }, async () => {
    const { resources, check } = await startSides();
    await using _resources = resources;
    const { lines, isFine } = await check({ HELP_CONTACT: "@anna" });
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^warn {3}Contact: HELP_CONTACT notifies nobody: Slack shows @anna as plain words\. Set/,
      ),
    );
    expect(isFine).toBe(true);
    for (const contact of ["<@U012ABCDEF>", "anna@acme.example", "the docs team in <#C012ABCDEF>"]) {
      expect((await check({ HELP_CONTACT: contact })).lines.join("\n")).not.toContain("HELP_CONTACT");
    }
  });
});

describe.concurrent("npm start where nobody could use the app", () => {
  it("goes on, logs one line for each reason, and names them when it is ready", async () => {
    const { resources, env } = await startSides({ withoutScopes: ["users:read", "commands"] });
    await using _resources = resources;
    const settings = { SLACK_SIGNING_SECRET: "short", HELP_CONTACT: "@anna" };
    await using app = new AppProcess({ env: { ...env, ...settings } });
    const url = await app.ready();
    const logged = app.stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line): Record<string, unknown> => JSON.parse(line));
    const messages = (level: string) =>
      logged.filter((line) => line["level"] === level).map(({ msg }) => msg);
    const reasons = [
      expect.stringContaining("SLACK_SIGNING_SECRET isn't a signing secret"),
      expect.stringContaining("The app lacks the scopes commands, users:read."),
    ];
    // Only Slack's own secrets are known to have that form, and this isn't Slack.
    expect(messages("warn")).toContainEqual(reasons[0]);
    expect(messages("error")).toEqual([reasons[1]]);
    const ready = logged.find(({ msg }) => msg === "docs-agent is ready");
    expect(ready?.["missing"]).toEqual(reasons);
    expect(
      logged.filter(({ level, msg }) => level === "warn" && /HELP_CONTACT/.test(String(msg))),
    ).toHaveLength(1);
    expect(await readiness(url ?? "")).toMatchObject({
      status: "degraded",
      checks: { slack: expect.stringContaining("The app lacks the scopes commands, users:read.") },
    });
  });
});
