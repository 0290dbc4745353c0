import { execFile } from "node:child_process";
import { Script } from "node:vm";
import { parse } from "yaml";

/** The names with which samples and files of each language are marked. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  js: ["js", "javascript", "mjs", "cjs"],
  json: ["json"],
  yaml: ["yaml", "yml"],
  toml: ["toml"],
  python: ["python", "py"],
  sh: ["sh", "bash", "shell", "console", "zsh"],
};

/** A language by its name in a fence or a file's ending. Null if it isn't one that is read. */
export function languageOf(name: string): string | null {
  const lower = name.toLowerCase();
  return Object.keys(LANGUAGES).find((language) => LANGUAGES[language]?.includes(lower)) ?? null;
}

/** Enough for a parser to start on a busy machine. */
const TIME_LIMIT_MS = 20_000;
const PYTHON: Readonly<Record<string, string>> = {
  python: "import ast,sys; ast.parse(sys.stdin.read())",
  toml: "import tomllib,sys; tomllib.loads(sys.stdin.read())",
};

/**
 * The syntax error of a sample, in a line. Null if it has none, or if the program that reads the
 * language isn't on this machine. Nothing of it is run.
 */
export async function syntaxFault(language: string, code: string): Promise<string | null> {
  try {
    if (language === "json") JSON.parse(withoutDots(code));
    else if (language === "yaml") parse(code, { logLevel: "error" });
    else if (language === "js") new Script(`async () => {\n${withoutModules(withoutDots(code))}\n}`);
    else if (language === "sh") return await faultBy("sh", ["-n"], commandsOf(code));
    else if (PYTHON[language] !== undefined)
      return await faultBy("python3", ["-I", "-c", PYTHON[language]], code);
    return null;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : "unreadable";
  }
}

const IMPORT =
  /^import\s*(?:(?:[\w$]+[\s,]*)?(?:\{[\w$\s,]*\}|\*\s*as\s+[\w$]+)?\s*from\s*)?(['"])[^'"\n]*\1/gm;

/** Turns a module into a script that can be parsed: imports go, and exports become statements. */
function withoutModules(code: string): string {
  return code
    .replace(IMPORT, "")
    .replace(/^export\s*(?:\*|\{[^{}]*\})[^'"\n]*\bfrom\s*(['"])[^'"\n]*\1/gm, "")
    .replace(/^export default\b/gm, "void")
    .replace(/^export\b/gm, "");
}

/** Dots that stand for what is left out. */
function withoutDots(code: string): string {
  return code.replace(/(?:,\s*)?(?:…|(?<![.\w)\]])\.\.\.(?=\s*[\]}]))/g, "");
}

/**
 * The commands of a sample: without the prompts and outputs of a session, and with names for
 * `<name>`.
 */
export function commandsOf(code: string): string {
  const lines = code.split("\n");
  const isSession = lines.some((line) => /^\s*\$ /.test(line));
  let isCommand = false;
  const commands = lines.flatMap((line) => {
    isCommand = !isSession || /^\s*\$ /.test(line) || (isCommand && /^\s*> /.test(line));
    return isCommand ? [line.replace(/^\s*[$>] /, "")] : [];
  });
  return commands
    .join("\n")
    .replace(/<[\w -]+>/g, "NAME")
    .replace(/…/g, "etc");
}

/** What a program says of a text. Null if it accepts it, or isn't here. */
function faultBy(program: string, args: readonly string[], text: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const child = execFile(program, args, { timeout: TIME_LIMIT_MS }, (error, _stdout, stderr) => {
    if (error === null || error.code === "ENOENT" || error.killed === true) resolve(null);
    else if (/No module named/.test(stderr)) resolve(null);
    else resolve(stderr.trim().split("\n").at(-1) ?? "unreadable");
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(text);
  return promise;
}
