import { randomInt } from "node:crypto";
import { readFile, readdir, symlink } from "node:fs/promises";
import { expect, it } from "vitest";
import { need } from "../support/need.ts";
import { inlineAgent } from "../support/runner-world.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ServiceFolder } from "../support/service-process.ts";

/** Processes whose command line holds these words. */
async function processesOf(words: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.filter((line) => line.replaceAll("\0", " ").includes(words));
}

it("starts nowhere without bubblewrap, and says what to do", async () => {
  await using folder = await ServiceFolder.open({ docs: ["true"] }, { PATH: "/nowhere" });
  const { code, stderr } = await folder.run();
  expect(code).toBe(1);
  expect(stderr).toContain("Can't run agents in a sandbox: bubblewrap is not installed.");
  expect(stderr).toContain("apt-get install bubblewrap");
  expect(stderr).toContain("set containment to none");
  expect(stderr).not.toContain("    at ");
});

it("starts nowhere without prlimit, which bounds what agents use", async () => {
  need("bubblewrap");
  await using programs = await openTempDir();
  await symlink("/usr/bin/bwrap", programs.file("bwrap"));
  await using folder = await ServiceFolder.open({ docs: ["true"] }, { PATH: programs.path });
  const { code, stderr } = await folder.run();
  expect(code).toBe(1);
  expect(stderr).toContain("Can't run agents in a sandbox: prlimit is not installed.");
  expect(stderr).toContain("apt-get install util-linux");
});

it("starts without it where the settings say so, and repeats that", async () => {
  await using folder = await ServiceFolder.open({ docs: ["true"] }, { PATH: "/nowhere" });
  folder.change({ containment: "none" });
  const service = await folder.serve();
  expect(service.stdout).toContain("agents run without a sandbox, as the settings say");
  const check = await folder.run("config", "check");
  expect(check.stdout).toContain("containment: none");
});

it("takes its agents along when it is killed", async () => {
  const seconds = `3581.${randomInt(1e9, 1e10)}`;
  await using folder = await ServiceFolder.open({
    docs: inlineAgent(`
      const { spawn } = await import("node:child_process");
      spawn("setsid", ["sleep", "${seconds}"], { detached: true, stdio: "ignore" });
      setInterval(() => {}, 1000);
    `),
  });
  const key = (await folder.run("keys", "create", "--project", "docs")).stdout.trim();
  const service = await folder.serve();
  const made = await fetch(`${service.url}/v2/agent/docs/job`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ prompt: "Fix it" }),
  });
  expect(made.status).toBe(201);
  await expect.poll(() => processesOf(`sleep ${seconds}`), { timeout: 20_000 }).toHaveLength(1);
  service.signal("SIGKILL");
  // No other service starts.
  await expect.poll(() => processesOf(`sleep ${seconds}`), { timeout: 20_000 }).toEqual([]);
}, 60_000);
