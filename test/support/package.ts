import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { TempDir } from "./temp-dir.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const Lock = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) });

/** A package's folder, as it is once its tarball is unpacked. */
export function buildPackage(dir: TempDir): string {
  const folder = dir.file("package");
  mkdirSync(folder);
  run(process.execPath, ["package/build.ts", join(folder, "dist")]);
  for (const name of ["package.json", "manifest.yml"]) cpSync(join(ROOT, name), join(folder, name));
  cpSync(join(ROOT, "package-lock.json"), join(folder, "npm-shrinkwrap.json"));
  return folder;
}

/** Packs a package's folder as a version that differs in these files. Returns the tarball. */
export function packAs(version: string, folder: string, files: Record<string, string> = {}): string {
  const made = join(dirname(folder), version, "package");
  cpSync(folder, made, { recursive: true });
  for (const name of ["package.json", "dist/package.json"]) {
    const about = JSON.parse(readFileSync(join(made, name), "utf8"));
    writeFileSync(join(made, name), JSON.stringify({ ...about, version }));
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  const tarball = join(dirname(folder), `docs-agent-slack-${version}.tgz`);
  run("tar", ["-czf", tarball, "-C", dirname(made), "package"]);
  return tarball;
}

/** Puts what the package depends on, and nothing else, beside a folder that requires it. */
export function linkDependencies(folder: string): void {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")));
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev === true || !/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path)) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(folder, path));
  }
}

/** Puts programs of these names first on the path. Returns the path. */
export function withPrograms(folder: string, programs: Record<string, string>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  return `${folder}${delimiter}${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
}

function run(command: string, args: string[]): void {
  const bin = join(ROOT, "node_modules", ".bin");
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
  execFileSync(command, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
}
