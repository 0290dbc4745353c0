import picomatch from "picomatch";
import { z } from "zod";
import { changedLines, changedPaths, type Files, textOf, textsOf } from "./files.ts";
import { brokenLinks } from "./links.ts";
import { layoutsOf, matterOf, withoutComments } from "./page/blocks.ts";
import { sectionsUnder } from "./page/sections.ts";
import { answerProblem, type Fact, factProblem, valueOf } from "./rules/facts.ts";
import { neverProblem } from "./rules/never.ts";
import { saidOfProblem } from "./rules/said-of.ts";
import { listed, type Problem, type Solved } from "./rules/solved.ts";
import { asksProblem, sourceProblem } from "./rules/words.ts";

const Name = z.string().regex(/^[a-z\d][a-z\d-]*$/, "is made of a-z, 0-9 and hyphens");
const Globs = z.array(z.string().min(1)).min(1);
/** A regular expression. `^` and `$` stand for the ends of a line. */
export const Pattern = z.string().refine(isPattern, "isn't a regular expression");
/** A number with its unit, as in `250 per minute` or `45 days`. */
const Value = z.string().refine((text) => valueOf(text) !== null, "has no number");
const fact = {
  value: Value,
  also: z.array(Value).default([]),
  about: Pattern.optional(),
  except: Pattern.optional(),
  ignoreCase: z.boolean().default(true),
};
const match = { matches: Pattern, ignoreCase: z.boolean().default(false) };
/** Only what stands below a heading of these words counts. */
const under = z.string().min(1).optional();

/** A condition that must hold after a task. Only the files and the agent's words decide it. */
export const Check = z.discriminatedUnion("kind", [
  /**
   * Each of these files contains a match outside of comments; with `anywhere`, at least one does.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("stands"),
    in: Globs,
    under,
    ...match,
    anywhere: z.boolean().default(false),
  }),
  /** None of these files contains a match. */
  z.strictObject({ name: Name, kind: z.literal("gone"), in: Globs, under, ...match }),
  /**
   * These files are the same byte for byte, and none was added or removed. `but` names exceptions.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("identical"),
    in: Globs,
    but: z.array(z.string()).default([]),
  }),
  /** No link or anchor is newly broken. */
  z.strictObject({ name: Name, kind: z.literal("links") }),
  /** The change has at most `lines` lines, added and removed together, in at most `files` files. */
  z.strictObject({
    name: Name,
    kind: z.literal("size"),
    lines: z.int().min(0),
    files: z.int().min(0),
  }),
  /** No page's front matter is changed, except on the pages in `but`. */
  z.strictObject({
    name: Name,
    kind: z.literal("front-matter"),
    but: z.array(z.string()).default([]),
  }),
  /**
   * In each of these files, a sentence, row or line that matches `about` names the value with its
   * unit, in whatever form, and none of them names another one, besides `also`. What matches
   * `except` is about something else.
   */
  z.strictObject({ name: Name, kind: z.literal("fact"), in: Globs, ...fact }),
  /**
   * Under a heading of each of these pages, `matches` or the value is said of the thing `of`, and
   * never of the thing `not`, with which it is easily mixed up.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("said-of"),
    in: Globs,
    under: Pattern,
    matches: Pattern.optional(),
    value: Value.optional(),
    of: Pattern,
    not: Pattern,
  }),
  /** Nothing that changed has a match: no file, name of a file, comment, word or claim. */
  z.strictObject({ name: Name, kind: z.literal("never"), ...match }),
  /**
   * The agent's last words or its claims name the value, and no other one as true. With `about`,
   * the number nearest to each match of it counts.
   */
  z.strictObject({ name: Name, kind: z.literal("answer"), ...fact }),
  /**
   * The agent rests on one of these files of the docs or of a context: a claim of its quotes it, or
   * its last words name it, or match `as`.
   */
  z.strictObject({
    name: Name,
    kind: z.literal("source"),
    of: Globs,
    repository: Name.optional(),
    as: Pattern.optional(),
  }),
  /** The agent's last words ask about it, or say that it isn't known. */
  z.strictObject({ name: Name, kind: z.literal("asks"), about: Pattern }),
  /** The agent's last words contain a match. */
  z.strictObject({ name: Name, kind: z.literal("says"), ...match }),
]);
export type Check = z.infer<typeof Check>;

/** Decides one check. Resolves to its problem, or to null if it passes. */
export async function problemOf(check: Check, solved: Solved): Promise<Problem> {
  switch (check.kind) {
    case "stands":
      return stands(check, solved.after);
    case "gone": {
      const pattern = patternOf(check);
      return listed(
        "It still stands in",
        sections(solved.after, check).flatMap(([path, text]) =>
          // Lines that are joined don't repeat each other.
          layoutsOf(text)
            .slice(0, -1)
            .every((layout) => pattern.test(layout))
            ? [path]
            : [],
        ),
      );
    }
    case "identical": {
      const isMeant = matcher(check.in, check.but);
      return listed("Changed:", changedPaths(solved.before, solved.after).filter(isMeant));
    }
    case "links": {
      const before = new Set(await brokenLinks(solved.before));
      return listed(
        "New broken links:",
        (await brokenLinks(solved.after)).filter((link) => !before.has(link)),
      );
    }
    case "size":
      return size(check, solved);
    case "front-matter": {
      const isMeant = matcher(["**"], check.but);
      return listed(
        "Changed front matter:",
        texts(solved.before, ["**"]).flatMap(([path, text]) => {
          const after = textOf(solved.after.get(path));
          return after === null || !isMeant(path) || matterOf(text) === matterOf(after) ? [] : [path];
        }),
      );
    }
    case "fact": {
      const pages = textsOf(solved.after, matcher(check.in));
      return factProblem(pages, factOf(check));
    }
    case "said-of": {
      const pages = textsOf(solved.after, matcher(check.in));
      const pattern = (text: string) => new RegExp(text, "iu");
      return saidOfProblem(pages, {
        under: pattern(check.under),
        matches: check.matches === undefined ? null : pattern(check.matches),
        value: check.value ?? null,
        of: pattern(check.of),
        not: pattern(check.not),
      });
    }
    case "never":
      return neverProblem(solved, patternOf(check));
    case "answer":
      return answerProblem(solved.words, solved.claims ?? [], factOf(check));
    case "source": {
      const { repository = null, as } = check;
      const isMeant = matcher(check.of);
      return sourceProblem(solved, {
        isMeant,
        repository,
        as: as === undefined ? null : new RegExp(as, "imu"),
      });
    }
    case "asks":
      return asksProblem(solved.words, new RegExp(check.about, "imu"));
    case "says":
      return patternOf(check).test(solved.words) ? null : "The agent's words don't say it.";
  }
}

function factOf(check: Extract<Check, { kind: "fact" | "answer" }>): Fact {
  const pattern = (text: string | undefined) =>
    text === undefined ? null : new RegExp(text, check.ignoreCase ? "iu" : "u");
  return {
    value: check.value,
    also: check.also,
    about: pattern(check.about),
    except: pattern(check.except),
  };
}

function stands(check: Extract<Check, { kind: "stands" }>, result: Files): Problem {
  const pattern = patternOf(check);
  const found = sections(result, check).map(([path, text]) => [path, withoutComments(text)] as const);
  if (found.length === 0) return `There is no ${check.under ?? check.in.join(", ")}.`;
  const without = found
    .filter(([, text]) => !layoutsOf(text).some((layout) => pattern.test(layout)))
    .map(([path]) => path);
  if (check.anywhere) return without.length < found.length ? null : "It stands nowhere.";
  return listed("It doesn't stand in", without);
}

function size(check: Extract<Check, { kind: "size" }>, { before, after }: Solved): Problem {
  const files = changedPaths(before, after).length;
  const lines = changedLines(before, after).length;
  if (files <= check.files && lines <= check.lines) return null;
  return `${lines} lines in ${files} files changed; expected at most ${check.lines} in ${check.files}.`;
}

/** The text files that a check is about, or what stands below its heading in them. */
function sections(
  files: Files,
  check: Extract<Check, { kind: "stands" | "gone" }>,
): [path: string, text: string][] {
  return texts(files, check.in).flatMap(([path, text]): [string, string][] => {
    const section = check.under === undefined ? text : sectionsUnder(text, check.under);
    return section === null ? [] : [[path, section]];
  });
}

/** The text files that match a list of patterns. */
function texts(files: Files, globs: readonly string[]): [path: string, text: string][] {
  return textsOf(files, matcher(globs));
}

/** True of the paths that match one of some patterns, and none of the exceptions. */
export function matcher(globs: readonly string[], but: readonly string[] = []): (path: string) => boolean {
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
