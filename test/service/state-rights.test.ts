// @module-tag all

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { COMPILE_CACHE } from "../support/child-process.ts";
import { ServiceFolder } from "../support/service-process.ts";
import { atNight } from "../support/nightly.ts";

const MAIN = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));
const IS_ROOT = process.getuid?.() === 0;
/** Runs a program as root without root's power to open what its owner may not, which is what a forbidden folder takes. */
const WITHOUT_POWER = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"];

/** A folder whose state the service's user may not open. */
async function openForeign(how: "folder" | "file") {
  const folder = await ServiceFolder.open({ docs: ["true"] });
  chmodSync(folder.dir.path, 0o755);
  const dataDir = folder.dir.file("data");
  mkdirSync(dataDir);
  await folder.run("keys", "create", "--project", "docs");
  const forbidden = how === "folder" ? dataDir : `${dataDir}/job-service.sqlite`;
  chmodSync(forbidden, 0o000);
  return {
    says: `Can't open ${dataDir}/job-service.sqlite (EACCES). Give ${dataDir} and all that is in it to the user that the service runs as.`,
    run(...args: string[]) {
      const [program = "", ...rest] = [...(IS_ROOT ? WITHOUT_POWER : []), process.execPath, MAIN, ...args];
      const { status, stdout, stderr } = spawnSync(program, rest, {
        cwd: folder.dir.path,
        env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILE_CACHE },
        encoding: "utf8",
        timeout: 30_000,
      });
      return { status, stdout: stdout.replace(/^.*"runs as root.*\n/m, ""), stderr };
    },
    async [Symbol.asyncDispose]() {
      chmodSync(dataDir, 0o700);
      await folder[Symbol.asyncDispose]();
    },
  };
}

it.each(atNight(["folder", "file"] as const, ["file"]))(
  "says that the state is another user's, and whose it has to be (%s)",
  async (how) => {
    await using foreign = await openForeign(how);
    for (const args of [[], ["keys", "create", "--project", "docs"], ["keys", "list"], ["jobs", "list"]]) {
      const { status, stdout, stderr } = foreign.run(...args);
      expect({ args, status, stdout, stderr }).toEqual({
        args,
        status: 1,
        stdout: "",
        stderr: `${foreign.says}\n`,
      });
    }
    const { status, stdout } = foreign.run("config", "check");
    expect(status).toBe(1);
    expect(stdout).toContain(`FAULT  service  dataDir: ${foreign.says}`);
    expect(stdout).not.toContain("Nobody has a key");
  },
  120_000,
);
