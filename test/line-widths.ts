// Part of `npm run lint`: no line is wider than people can read.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const CODE_COLUMNS = 110;
/** Of comments and Markdown. */
const PROSE_COLUMNS = 100;

/** Files and folders for which it holds. Add others as they get there. */
const HELD = [
  ".ci",
  "AGENTS.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "README.md",
  "bench",
  "compose.yml",
  "deploy",
  "docs",
  "eval",
  "gallery",
  "manifest.yml",
  "playground",
  "service.example.yml",
  "src",
  "test/README.md",
  "test/agents",
  "test/contracts",
  "test/model-apis",
  "test/soak",
  "test/support",
  "vitest.config.ts",
  "world",
];
const READ = /\.(?:[cm]?[jt]s|css|html|md|sh|ya?ml)$/;
/** Other people's files, and pages that stand for somebody's docs. */
const NOT_OURS = /^(?:test\/fixtures|playground\/sample-docs|eval\/tasks|test\/model-apis\/node_modules)\//;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;
const COMMENT_OF_YAML = /^\s*#/;

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function filesAt(path: string): string[] {
  if (statSync(ROOT + path).isFile()) return [path];
  return readdirSync(ROOT + path, { recursive: true, encoding: "utf8" })
    .map((name) => `${path}/${name}`)
    .filter((name) => READ.test(name) && !NOT_OURS.test(name));
}

function widthAllowed(file: string, line: string): number {
  const comment = /\.(?:sh|ya?ml)$/.test(file) ? COMMENT_OF_YAML : COMMENT;
  return file.endsWith(".md") || comment.test(line) ? PROSE_COLUMNS : CODE_COLUMNS;
}

function tooWide(file: string): string[] {
  return readFileSync(ROOT + file, "utf8")
    .split("\n")
    .flatMap((line, index) => {
      const [columns, allowed] = [Array.from(line).length, widthAllowed(file, line)];
      return columns > allowed ? [`${file}:${index + 1}: ${columns} columns, at most ${allowed}`] : [];
    });
}

// Named on the command line: whether these are ready to be added.
const named = process.argv.slice(2);
const found = (named.length > 0 ? named : HELD).flatMap(filesAt).flatMap(tooWide);
if (found.length > 0) {
  process.stderr.write(`${found.join("\n")}\nBreak ${found.length === 1 ? "this line" : "these lines"}.\n`);
  process.exitCode = 1;
}
