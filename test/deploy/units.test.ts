import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FORCED_AFTER_MS } from "../../src/shared/machine/stop-signals.ts";
import { need } from "../support/need.ts";
import { ROOT } from "../support/package.ts";
import { openTempDir } from "../support/temp-dir.ts";

const UNITS = ["docs-agent", "docs-agent-service", "docs-agent-runner"];
const textOf = (unit: string) => readFileSync(join(ROOT, "deploy", `${unit}.service`), "utf8");
const valueOf = (unit: string, name: string) =>
  new RegExp(`^${name}=(.*)$`, "m").exec(textOf(unit))?.[1] ?? "";

it("systemd finds nothing wrong with the units", async () => {
  need("systemd");
  await using dir = await openTempDir();
  for (const unit of UNITS) {
    // Nothing is installed here.
    const text = textOf(unit).replace("/opt/docs-agent/current/node_modules/.bin/node", process.execPath);
    await writeFile(dir.file(`${unit}.service`), text);
  }
  const files = UNITS.map((unit) => dir.file(`${unit}.service`));
  const { stderr, status } = spawnSync("systemd-analyze", ["verify", "--man=no", ...files], {
    encoding: "utf8",
  });
  const faults = stderr.split("\n").filter((line) => line.startsWith(dir.path));
  // Known from systemd 254 on.
  expect(faults.filter((line) => !line.includes("'DelegateSubgroup'"))).toEqual([]);
  expect(status).toBe(0);
});

it("the units run programs of the package, in its folder, and give them time to stop", () => {
  const help = execFileSync(process.execPath, [join(ROOT, "package", "docs-agent-slack.cjs"), "--help"], {
    encoding: "utf8",
  });
  for (const unit of UNITS) {
    const [node, command, program, ...more] = valueOf(unit, "ExecStart").split(" ");
    expect([node, command]).toEqual([
      "/opt/docs-agent/current/node_modules/.bin/node",
      "/opt/docs-agent/current/dist/docs-agent-slack.cjs",
    ]);
    expect(help).toMatch(new RegExp(`^  ${program} `, "m"));
    expect(more).toEqual([]);
    expect(valueOf(unit, "WorkingDirectory")).toBe("/opt/docs-agent");
    expect(Number(valueOf(unit, "TimeoutStopSec")) * 1000).toBeGreaterThan(FORCED_AFTER_MS);
  }
});

it("a runner's unit holds it as the service's holds that", () => {
  const linesOf = (unit: string) =>
    textOf(unit)
      .split("\n")
      .filter((line) => /^\w+=/.test(line));
  const own = /^(?:Description|ExecStart|ReadWritePaths|DelegateSubgroup)=/;
  const [runner, service] = ["docs-agent-runner", "docs-agent-service"].map((unit) =>
    linesOf(unit).filter((line) => !own.test(line)),
  );
  expect(runner).toEqual(service);
  expect(valueOf("docs-agent-runner", "ReadWritePaths")).toBe("/opt/docs-agent/runner-data");
});
