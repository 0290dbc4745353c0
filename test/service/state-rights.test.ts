import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ServiceFolder } from "../support/service-process.ts";

const MAIN = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));
const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;

/** A folder whose state another user has: root's, for whom there is no forbidden folder, becomes nobody's to ask for. */
async function openForeign(how: "folder" | "file") {
  const folder = await ServiceFolder.open({ docs: ["true"] });
  chmodSync(folder.dir.path, 0o755);
  const dataDir = folder.dir.file("data");
  mkdirSync(dataDir);
  await folder.run("keys", "create", "--project", "docs");
  const forbidden = how === "folder" ? dataDir : `${dataDir}/job-service.sqlite`;
  chmodSync(dataDir, IS_ROOT && how === "file" ? 0o777 : 0o700);
  chmodSync(forbidden, 0o000);
  return {
    says: `Can't open ${dataDir}/job-service.sqlite (EACCES). Give ${dataDir} and all that is in it to the user that the service runs as.`,
    run: (...args: string[]) =>
      spawnSync(process.execPath, [MAIN, ...args], {
        cwd: folder.dir.path,
        env: { PATH: process.env["PATH"] },
        encoding: "utf8",
        timeout: 30_000,
        ...(IS_ROOT && { uid: NOBODY, gid: NOBODY }),
      }),
    async [Symbol.asyncDispose]() {
      chmodSync(dataDir, 0o700);
      await folder[Symbol.asyncDispose]();
    },
  };
}

it.each(["folder", "file"] as const)(
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
