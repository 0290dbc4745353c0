import { diffArrays } from "diff";
import picomatch from "picomatch";
import { Script } from "node:vm";
import { parse } from "yaml";
import { z } from "zod";
import { changedPaths, type Files, patchOf, textOf } from "./files.ts";
import { brokenLinks } from "./links.ts";

const Name = z.string().regex(/^[a-z\d][a-z\d-]*$/, "is made of a-z, 0-9 and hyphens");
const Globs = z.array(z.string().min(1)).min(1);
/** A regular expression. `^` and `$` stand for the ends of a line. */
const Pattern = z.string().refine(isPattern, "isn't a regular expression");
const match = { matches: Pattern, ignoreCase: z.boolean().default(false) };

/** A condition that must hold after a task. Only the files and the agent's words decide it. */
export const Check = z.discriminatedUnion("kind", [
  /** Each of these files contains a match. With `anywhere`, at least one of them does. */
  z.strictObject({
    name: Name,
    kind: z.literal("stands"),
    in: Globs,
    ...match,
    anywhere: z.boolean().default(false),
  }),
  /** None of these files contains a match. */
  z.strictObject({ name: Name, kind: z.literal("gone"), in: Globs, ...match }),
  /**
   * These files are the same byte for byte, and none was added or removed. `but` names exceptions.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("identical"),
    in: Globs,
    but: z.array(z.string()).default([]),
  }),
  /**
   * Everything else in these files is kept: besides words that match, at most `words` words are
   * removed, and no line is newly repeated. Line breaks don't count, and neither do added words.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("rest"),
    in: Globs,
    ...match,
    words: z.int().min(0).default(0),
  }),
  /** No link or anchor is newly broken. */
  z.strictObject({ name: Name, kind: z.literal("links") }),
  /** The change has at most `lines` lines, added and removed together, in at most `files` files. */
  z.strictObject({ name: Name, kind: z.literal("size"), lines: z.int().min(0), files: z.int().min(0) }),
  /** No page's front matter is changed, except on the pages in `but`. */
  z.strictObject({ name: Name, kind: z.literal("front-matter"), but: z.array(z.string()).default([]) }),
  /** These files have no syntax errors as JSON, YAML or JavaScript, by their endings. */
  z.strictObject({ name: Name, kind: z.literal("parses"), in: Globs }),
  /** The code blocks of one language in these pages have no syntax errors: js, json or yaml. */
  z.strictObject({
    name: Name,
    kind: z.literal("code-blocks"),
    in: Globs,
    language: z.enum(["js", "json", "yaml"]),
  }),
  /** The agent's last words contain a match. */
  z.strictObject({ name: Name, kind: z.literal("says"), ...match }),
  /** The agent's last words contain no match. */
  z.strictObject({ name: Name, kind: z.literal("says-not"), ...match }),
]);
export type Check = z.infer<typeof Check>;

/** A repository before and after a task, and the agent's last words. */
export type Solved = { base: Files; result: Files; words: string };

/** The reason why a check fails, in a few lines. Null if it passes. */
export type Problem = string | null;

const MAX_SHOWN = 5;
const FRONT_MATTER = /^---\r?\n[^]*?\r?\n---(?=\r?\n|$)/;
const IMPORT =
  /^import\s*(?:(?:[\w$]+[\s,]*)?(?:\{[\w$\s,]*\}|\*\s*as\s+[\w$]+)?\s*from\s*)?(['"])[^'"\n]*\1/gm;
const FENCE = /^ {0,3}(?:`{3,}|~{3,}) *(\w+)[^\n]*\n([^]*?)^ {0,3}(?:`{3,}|~{3,}) *$/gm;

/** Decides one check. Resolves to its problem, or to null if it passes. */
export async function problemOf(check: Check, solved: Solved): Promise<Problem> {
  switch (check.kind) {
    case "stands":
      return stands(check, solved.result);
    case "gone": {
      const pattern = patternOf(check);
      return listed(
        "It still stands in",
        texts(solved.result, check.in).flatMap(([path, text]) => (pattern.test(text) ? [path] : [])),
      );
    }
    case "identical": {
      const isMeant = matcher(check.in, check.but);
      return listed("Changed:", changedPaths(solved.base, solved.result).filter(isMeant));
    }
    case "rest": {
      const pattern = patternOf(check);
      return listed(
        "Lost or doubled:",
        texts(solved.base, check.in).flatMap(([path, before]) => {
          const after = textOf(solved.result.get(path)) ?? "";
          const lost = lostWords(before, after).filter((word) => !pattern.test(word));
          const doubled = doubledLines(after).filter((line) => !doubledLines(before).includes(line));
          return [...(lost.length > check.words ? lost : []), ...doubled].map((text) => `${path}: ${text}`);
        }),
      );
    }
    case "links": {
      const before = new Set(await brokenLinks(solved.base));
      return listed(
        "New broken links:",
        (await brokenLinks(solved.result)).filter((link) => !before.has(link)),
      );
    }
    case "size":
      return size(check, solved);
    case "front-matter": {
      const isMeant = matcher(["**"], check.but);
      return listed(
        "Changed front matter:",
        texts(solved.base, ["**"]).flatMap(([path, text]) => {
          const after = textOf(solved.result.get(path));
          return after === null || !isMeant(path) || matterOf(text) === matterOf(after) ? [] : [path];
        }),
      );
    }
    case "parses":
      return listed(
        "Can't be read:",
        texts(solved.result, check.in).flatMap(([path, text]) => faultOf(path, text)),
      );
    case "code-blocks":
      return listed(
        "Can't be read:",
        texts(solved.result, check.in).flatMap(([path, text]) =>
          [...text.matchAll(FENCE)]
            .filter(([, language]) => LANGUAGES[check.language].includes(language ?? ""))
            .flatMap(([, , code]) => faultOf(`${path}: x.${check.language}`, code ?? "")),
        ),
      );
    case "says":
      return patternOf(check).test(solved.words) ? null : "The agent's words don't say it.";
    case "says-not":
      return patternOf(check).test(solved.words) ? "The agent's words say it." : null;
  }
}

/** The names with which code blocks of each language are marked. */
const LANGUAGES: Record<"js" | "json" | "yaml", readonly string[]> = {
  js: ["js", "javascript", "mjs"],
  json: ["json"],
  yaml: ["yaml", "yml"],
};

function stands(check: Extract<Check, { kind: "stands" }>, result: Files): Problem {
  const pattern = patternOf(check);
  const found = texts(result, check.in);
  if (found.length === 0) return `There is no ${check.in.join(", ")}.`;
  const without = found.filter(([, text]) => !pattern.test(text)).map(([path]) => path);
  if (check.anywhere) return without.length < found.length ? null : "It stands nowhere.";
  return listed("It doesn't stand in", without);
}

function size(check: Extract<Check, { kind: "size" }>, { base, result }: Solved): Problem {
  const files = changedPaths(base, result).length;
  const lines = patchOf(base, result)
    .split("\n")
    .filter((line) => /^[+-](?!\+\+ |-- )/.test(line)).length;
  if (files <= check.files && lines <= check.lines) return null;
  return `${lines} lines in ${files} files changed; expected at most ${check.lines} in ${check.files}.`;
}

function matterOf(text: string): string {
  return FRONT_MATTER.exec(text)?.[0] ?? "";
}

function lostWords(before: string, after: string): string[] {
  const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");
  return diffArrays(wordsOf(before), wordsOf(after)).flatMap(({ removed, value }) => (removed ? value : []));
}

function doubledLines(text: string): string[] {
  const lines = text.split("\n");
  return lines.filter((line, index) => /[\p{L}\d]/u.test(line) && line === lines[index - 1]);
}

/** The syntax error of a file, if it has one. JavaScript is only parsed, and never run. */
function faultOf(path: string, text: string): string[] {
  try {
    if (path.endsWith(".json")) JSON.parse(text);
    else if (/\.ya?ml$/.test(path)) parse(text);
    else if (path.endsWith("js")) new Script(`async () => {\n${withoutModules(text)}\n}`);
    return [];
  } catch (error) {
    return [`${path}: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : "unreadable"}`];
  }
}

/** Turns a module into a script that can be parsed: imports go, and exports become statements. */
function withoutModules(code: string): string {
  return code
    .replace(IMPORT, "")
    .replace(/^export\s*(?:\*|\{[^{}]*\})[^'"\n]*\bfrom\s*(['"])[^'"\n]*\1/gm, "")
    .replace(/^export default\b/gm, "void")
    .replace(/^export\b/gm, "");
}

/** The text files that match a list of patterns. */
function texts(files: Files, globs: readonly string[]): [path: string, text: string][] {
  const isMeant = matcher(globs);
  return [...files.keys()].filter(isMeant).flatMap((path): [string, string][] => {
    const text = textOf(files.get(path));
    return text === null ? [] : [[path, text]];
  });
}

function matcher(globs: readonly string[], but: readonly string[] = []): (path: string) => boolean {
  const isIn = picomatch([...globs], { dot: true });
  const isOut = picomatch([...but], { dot: true });
  return (path) => isIn(path) && !isOut(path);
}

function patternOf({ matches, ignoreCase }: { matches: string; ignoreCase: boolean }): RegExp {
  return new RegExp(matches, ignoreCase ? "imu" : "mu");
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "mu");
    return true;
  } catch {
    return false;
  }
}

function listed(lead: string, items: readonly string[]): Problem {
  if (items.length === 0) return null;
  const more = items.length > MAX_SHOWN ? ` and ${items.length - MAX_SHOWN} more` : "";
  return `${lead} ${items.slice(0, MAX_SHOWN).join(", ")}${more}`;
}
