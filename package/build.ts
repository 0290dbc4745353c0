// Makes dist/ before `npm pack` packs it: JavaScript of what people run, laid out like the clone,
// with the files beside it that aren't code. An argument names another folder for it.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = resolve(process.argv[2] ?? join(ROOT, "dist"));
const FOLDERS = ["src", "world", "gallery", "playground"];
/** The playground's page is TypeScript when it is served, too. */
const SERVED = join("playground", "workspace", "public");
const BIN = "docs-agent-slack.cjs";

function isData(path: string): boolean {
  if (path.includes(SERVED)) return basename(path) !== "tsconfig.json";
  return extname(path) !== ".ts";
}

rmSync(DIST, { recursive: true, force: true });
execFileSync("tsc", ["--project", "package", "--outDir", DIST], { cwd: ROOT, stdio: "inherit" });
for (const name of FOLDERS) cpSync(join(ROOT, name), join(DIST, name), { recursive: true, filter: isData });
cpSync(join(ROOT, "manifest.yml"), join(DIST, "manifest.yml"));
cpSync(join(ROOT, "package", BIN), join(DIST, BIN));
chmodSync(join(DIST, BIN), 0o755);
// Programs look up their version and the kind of their modules above themselves.
const { name, version, type } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
writeFileSync(join(DIST, "package.json"), `${JSON.stringify({ name, version, type }, null, 2)}\n`);
