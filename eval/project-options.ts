import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { EvalOptionError } from "./settings.ts";

const OUR_BRIEF = fileURLToPath(new URL("../src/service/runner/agents/brief.md", import.meta.url));

/** The options that stand for settings of a project, as they are typed. */
export type ProjectOptions = {
  brief?: string;
  instructions?: string;
  styleGuide?: string;
  verify?: string;
  ask?: boolean;
};

/** What every task's project has besides, in the form of the job service's settings. */
export type ProjectSettings = {
  briefFile: string;
  instructions: string | null;
  styleGuide: string[];
  verify: unknown[];
  asks: boolean;
};

/** Reads the options. Throws an {@link EvalOptionError}. */
export function readProjectSettings(options: ProjectOptions): ProjectSettings {
  const { brief, instructions, styleGuide = "", verify, ask = false } = options;
  return {
    briefFile: brief === undefined ? OUR_BRIEF : fileOf("--brief", brief),
    instructions:
      instructions === undefined ? null : readFileSync(fileOf("--instructions", instructions), "utf8"),
    styleGuide: namesIn(styleGuide),
    verify: verify === undefined ? [] : checksOf(verify),
    asks: ask,
  };
}

/** Names of checks that the job service knows, or a file with a list as in its settings. */
function checksOf(given: string): unknown[] {
  if (!/\.ya?ml$/.test(given)) return namesIn(given);
  const file = fileOf("--verify", given);
  let read: unknown;
  try {
    read = parse(readFileSync(file, "utf8"));
  } catch {
    throw new EvalOptionError(`${given} isn't YAML.`);
  }
  if (!Array.isArray(read)) throw new EvalOptionError(`${given} isn't a list of checks.`);
  return read;
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function fileOf(option: string, file: string): string {
  if (!existsSync(file)) throw new EvalOptionError(`There is no file ${file} for ${option}.`);
  return resolve(file);
}
