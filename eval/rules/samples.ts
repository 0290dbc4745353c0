import { changedPaths, type Files, textOf } from "../files.ts";
import { blocksOf, isPage } from "../page/blocks.ts";
import { commandFaults } from "./commands.ts";
import { jsFaults, type KnownNames, knownNames } from "./js-names.ts";
import { listed, type Problem, type Solved } from "./solved.ts";
import { languageOf, syntaxFault } from "./syntax.ts";

/** More samples of a solution aren't read. */
const MAX_SAMPLES = 60;
const MAX_LENGTH = 20_000;

/**
 * The samples and the data files that a solution changes have no syntax errors, their commands can
 * be read by a shell and by `curl`, and what they import and call is defined. Faults that were
 * there before don't count.
 */
export async function samplesProblem(solved: Solved): Promise<Problem> {
  const { before, after, contexts } = solved;
  const faults: string[] = [];
  const known = knownNames([before, ...contexts.values()]);
  for (const { path, language, code } of changedSamples(before, after).slice(0, MAX_SAMPLES)) {
    const found = await faultsOf(language, code, known);
    faults.push(...found.map((fault) => `${path}: ${fault}`));
  }
  return listed("A sample can't be used:", faults);
}

type Sample = { path: string; language: string; code: string };

function changedSamples(before: Files, after: Files): Sample[] {
  return changedPaths(before, after).flatMap((path) => {
    const old = new Set(samplesOf(before, path).map(({ code }) => code));
    return samplesOf(after, path).filter(({ code }) => !old.has(code) && code.length <= MAX_LENGTH);
  });
}

function samplesOf(files: Files, path: string): Sample[] {
  const text = textOf(files.get(path));
  if (text === null) return [];
  if (!isPage(path)) {
    const language = languageOf(/\.(\w+)$/.exec(path)?.[1] ?? "");
    return language === null ? [] : [{ path, language, code: text }];
  }
  return fencesIn(text, path).flatMap(({ language: named, code }) => {
    const language = languageOf(named);
    return language === null ? [] : [{ path, language, code }];
  });
}

const FENCE = /^([ \t]*)(`{3,}|~{3,})[ \t]*(\w+)[^\n`]*\n([^]*?)^[ \t]*\2[ \t]*$/gm;

/** The samples of a page, those within elements of MDX, too. */
function fencesIn(text: string, path: string): { language: string; code: string }[] {
  if (!path.endsWith(".mdx"))
    return blocksOf(path, text).flatMap(({ kind, language, visible }) =>
      kind === "sample" ? [{ language: language ?? "", code: visible }] : [],
    );
  return [...text.matchAll(FENCE)].map(({ 1: indent = "", 3: language = "", 4: code = "" }) => ({
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

async function faultsOf(language: string, code: string, known: KnownNames): Promise<string[]> {
  const syntax = await syntaxFault(language, code);
  if (syntax !== null) return [syntax];
  if (language === "sh") return commandFaults(code);
  return language === "js" ? jsFaults(code, known) : [];
}
