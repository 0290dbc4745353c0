import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openInstallation } from "../support/installation.ts";
import { PATIENT } from "../support/patient.ts";
import { ANA, DOCS } from "../support/world.ts";

const STATE = "data/docs-agent.sqlite";
/** An app that takes the state to a newer schema, and ends. */
const BROKEN_APP = `
import { DatabaseSync } from "node:sqlite";
new DatabaseSync("${STATE}").exec("PRAGMA user_version = 99");
process.exit(1);
`;
/** The manifest with a scope that no version before had. */
const withScope = (manifest: string) =>
  manifest.replace("      - commands", "      - commands\n      - pins:read");

const MINUTES = { timeout: 600_000 };

type Installation = Awaited<ReturnType<typeof openInstallation>>;

/** Installs a version, starts it, and asks for something. */
async function begin(installation: Installation, version: string): Promise<void> {
  expect(await installation.upgrade(installation.pack(version))).toMatchObject({ code: 0 });
  await installation.start();
  await ask(installation, "fix the first typo");
}

/** Asks in Slack until the app takes it, and waits for what comes of it. */
async function ask({ slack, isReady }: Installation, text: string): Promise<void> {
  const before = slack.messages(DOCS).length;
  await vi.waitUntil(isReady, PATIENT);
  expect((await slack.person(ANA).command({ channel: DOCS, text })).status).toBe(200);
  await slack.until(() => slack.messages(DOCS).length >= before + 2, 60_000);
}

it("installs a version, brings the next one, and goes back from one that doesn't run", MINUTES, async () => {
  await using installation = await openInstallation();
  const { upgrade, pack, version, states, folder, slack } = installation;
  const first = pack("0.1.0");
  expect((await upgrade(first)).said).toMatch(
    /\n0\.1\.0 is installed\. Start the programs, and run docs-agent-slack doctor\.\n$/,
  );
  await installation.start();
  await ask(installation, "fix the first typo");
  expect((await upgrade(first)).said).toBe("0.1.0 is already installed.\n");

  const second = pack("0.2.0", { "manifest.yml": withScope(readFileSync("manifest.yml", "utf8")) });
  // Right after the switch.
  expect(await upgrade(second, "after:7")).toMatchObject({ code: null });
  const next = await upgrade(second);
  expect(next.said).toMatch(/^An upgrade to 0\.2\.0 broke off\. This ends it first\.\n/);
  expect(next.said).toContain("\n0.2.0 runs, and all is well.\nThe manifest changed.");
  expect(next.said).toContain("  + oauth_config.scopes.bot: pins:read\n");
  expect(next.code).toBe(0);
  expect(version()).toBe("0.2.0");
  await ask(installation, "fix the second typo");

  const broken = await upgrade(pack("0.3.0", { "dist/src/app/main.js": BROKEN_APP }));
  expect(broken.said).toContain("FAULT  docs-agent doesn't run. Its log: journalctl -u docs-agent\n");
  expect(broken.said).toMatch(/\nWent back to 0\.2\.0, with its state\./);
  expect(broken.code).toBe(1);
  expect(version()).toBe("0.2.0");
  expect(await states()).toEqual(["active", "active"]);
  await ask(installation, "fix the third typo");
  expect(slack.messages(DOCS)).toHaveLength(6);

  const garbage = join(folder, "garbage.tgz");
  writeFileSync(garbage, "no package");
  expect((await upgrade(garbage)).said).toContain("garbage.tgz isn't a package of Docs Agent.");
  expect((await upgrade(first)).said).toContain("0.1.0 is older than 0.2.0, and older versions can't read");
  expect(await states()).toEqual(["active", "active"]);
});

it("changes nothing if the newer doctor finds a fault", { ...MINUTES, tags: ["all"] }, async () => {
  await using installation = await openInstallation();
  const { upgrade, pack, version, states } = installation;
  await begin(installation, "0.1.0");
  const refused = await upgrade(
    pack("0.2.0", {
      "dist/src/doctor/main.js": `process.stdout.write(JSON.stringify({ ok: false, findings: [{ of: "app",
        part: "Slack", level: "fault", tried: "t", found: "It is new.", todo: "Set NEW." }] }));`,
    }),
  );
  expect(refused.said).toContain("FAULT  app  Slack: It is new.\n       tried: t\n       to do: Set NEW.\n");
  expect(refused.said).toContain("Fix this, and try again. Nothing was changed.");
  expect(refused.code).toBe(1);
  expect(version()).toBe("0.1.0");
  expect(await states()).toEqual(["active", "active"]);
});

it(
  "stays once the newer version has taken a request, and says what to do",
  { ...MINUTES, tags: ["all"] },
  async () => {
    await using installation = await openInstallation();
    const { upgrade, pack, version, states, folder, slack } = installation;
    await begin(installation, "0.1.0");
    // Finds a fault as soon as the newer version has worked.
    const doctor = `
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
const isNew = (await import("node:fs")).readlinkSync("current").includes("0.2.0");
while (isNew && !existsSync("asked")) await sleep(50);
const fault = { of: "app", part: "Slack", level: "fault", tried: "t", found: "It is odd.", todo: null };
process.stdout.write(JSON.stringify({ ok: !isNew, findings: isNew ? [fault] : [] }));
`;
    const upgrading = upgrade(pack("0.2.0", { "dist/src/doctor/main.js": doctor }));
    await slack.until(() => version() === "0.2.0", 120_000);
    await ask(installation, "fix the second typo");
    writeFileSync(join(folder, "asked"), "");
    const { said, code } = await upgrading;
    expect(said).toContain("0.2.0 is installed, and something is wrong. It has worked on requests since");
    expect(code).toBe(1);
    expect(version()).toBe("0.2.0");
    expect(await states()).toEqual(["active", "active"]);
  },
);

it(
  "a kill at any step, and a second run, end in the newer version",
  { ...MINUTES, tags: ["all"] },
  async () => {
    await using installation = await openInstallation();
    const { upgrade, pack, version, states, slack, folder } = installation;
    await begin(installation, "0.1.0");
    let kills = 0;
    for (let effect = 1; ; effect += 1) {
      const next = `0.1.${effect}`;
      const tarball = pack(next);
      const phase = effect % 2 === 0 ? "before" : "after";
      const first = await upgrade(tarball, `${phase}:${effect}`);
      if (first.code !== null) break;
      kills += 1;
      const second = await upgrade(tarball);
      expect(second.code, `effect ${effect}: ${second.said}`).toBe(0);
      expect(version()).toBe(next);
      expect(await states()).toEqual(["active", "active"]);
      // One of each upgrade, the first included, and no part of another one.
      expect(readdirSync(join(folder, "backups"))).toHaveLength(kills + 1);
    }
    expect(kills).toBeGreaterThanOrEqual(8);
    await ask(installation, "fix the last typo");
    // Nothing was lost, and nothing was said twice.
    expect(slack.messages(DOCS)).toHaveLength(4);
  },
);

it(
  "a kill at any step of going back, and a second run, end in the older version",
  { ...MINUTES, tags: ["all"] },
  async () => {
    await using installation = await openInstallation();
    const { upgrade, pack, version, states, slack } = installation;
    await begin(installation, "0.1.0");
    let kills = 0;
    let said = "";
    // Up to there, it goes as in the test above.
    for (let effect = 8; ; effect += 1) {
      const tarball = pack(`0.2.${effect}`, { "dist/src/app/main.js": BROKEN_APP });
      const phase = effect % 2 === 0 ? "before" : "after";
      const first = await upgrade(tarball, `${phase}:${effect}`);
      said = `${first.code}: ${first.said}`;
      if (first.code !== null) break;
      kills += 1;
      const second = await upgrade(tarball);
      expect(version(), `effect ${effect}: ${second.said}`).toBe("0.1.0");
      expect(await states()).toEqual(["active", "active"]);
    }
    expect(kills, `The last one said ${said}`).toBeGreaterThanOrEqual(9);
    await ask(installation, "fix the last typo");
    expect(slack.messages(DOCS)).toHaveLength(4);
  },
);
