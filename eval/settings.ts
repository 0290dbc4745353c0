import { existsSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { DocsAgentError } from "../src/shared/errors.ts";
import { AGENT_PRESET_NAMES, AGENT_PRESETS, isAgentPreset } from "../src/service/config/agent-presets.ts";

/** A run may use this many times the average of the budget for a run. */
const SHARE = 3;
const TIME_LIMIT_MINUTES = 20;

/** An option can't be used. The message names the option and says what it takes. */
export class EvalOptionError extends DocsAgentError {
  readonly code = "eval_option";
}

/** The options of `npm run eval` as they are typed. */
export type EvalOptions = {
  preset?: string;
  model?: string;
  models: string;
  maxUsd?: string;
  maxTokens?: string;
  runs: string;
  atOnce: string;
};

const ModelsFile = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), kind: z.string(), keyEnv: z.string() })).min(1),
});
type Models = z.infer<typeof ModelsFile>["models"];

/** The settings of an evaluation. */
export type EvalSettings = {
  preset: string;
  model: string | null;
  /** One of the agent's kinds, in the form of `models` in the job service's settings. */
  models: Models;
  runs: number;
  atOnce: number;
  maxUsd: number | null;
  maxTokens: number | null;
  /** The most that one run may use, in the form of `budget` in the job service's settings. */
  budget: { usd: number } | { tokens: number };
  timeLimitMinutes: number;
  /** The job service's environment. */
  env: Record<string, string>;
};

/** Reads the options, given the number of tasks. Throws an {@link EvalOptionError}. */
export function readSettings(
  options: EvalOptions,
  tasks: number,
  env: Readonly<Record<string, string | undefined>>,
): EvalSettings {
  const { preset = "", model = null } = options;
  if (!isAgentPreset(preset)) {
    throw new EvalOptionError(`--preset takes one of ${AGENT_PRESET_NAMES.join(", ")}.`);
  }
  const runs = numberFrom("--runs", options.runs, { whole: true });
  const atOnce = Math.min(numberFrom("--at-once", options.atOnce, { whole: true }), 100);
  const maxUsd = options.maxUsd === undefined ? null : numberFrom("--max-usd", options.maxUsd);
  const maxTokens =
    options.maxTokens === undefined ? null : numberFrom("--max-tokens", options.maxTokens, { whole: true });
  if ((maxUsd === null) === (maxTokens === null)) {
    throw new EvalOptionError(
      "Give --max-usd or --max-tokens: how much the whole evaluation may use. Models cost money.",
    );
  }
  const max = maxUsd ?? maxTokens ?? 0;
  const each = Math.min(max, (SHARE * max) / (tasks * runs));
  const kinds: readonly string[] = AGENT_PRESETS[preset].modelKinds;
  const models = kinds.flatMap((kind) => modelsIn(options.models).filter((given) => given.kind === kind));
  const [first] = models;
  if (first === undefined) {
    throw new EvalOptionError(
      `${options.models} has no model for ${preset}: one of kind ${kinds.join(", ")}.`,
    );
  }
  const key = env[first.keyEnv];
  if (key === undefined || key === "") {
    throw new EvalOptionError(`Set ${first.keyEnv} to the key for the models of ${preset}.`);
  }
  const passed = ["PATH", "HOME", "LANG", "TMPDIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", first.keyEnv];
  return {
    preset,
    model,
    models: [first],
    runs,
    atOnce,
    maxUsd,
    maxTokens,
    budget: maxUsd === null ? { tokens: Math.max(1, Math.floor(each)) } : { usd: each },
    timeLimitMinutes: TIME_LIMIT_MINUTES,
    env: Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
  };
}

/** Throws an {@link EvalOptionError} if a text isn't a day such as 2021-01-01. */
export function checkDay(option: string, text: string): void {
  if (!z.iso.date().safeParse(text).success)
    throw new EvalOptionError(`${option} takes a day such as 2021-01-01, not ${text}.`);
}

/** Reads a share from 0 to 1. Throws an {@link EvalOptionError}. */
export function shareFrom(option: string, text: string): number {
  const share = Number(text);
  if (text.trim() !== "" && share >= 0 && share <= 1) return share;
  throw new EvalOptionError(`${option} takes a number from 0 to 1, not ${text}.`);
}

function modelsIn(file: string): Models {
  if (!existsSync(file)) throw new EvalOptionError(`There is no file ${file}. --models names one.`);
  let raw: unknown;
  try {
    raw = parse(readFileSync(file, "utf8"));
  } catch {
    throw new EvalOptionError(`${file} isn't YAML.`);
  }
  const read = ModelsFile.safeParse(raw);
  if (!read.success) throw new EvalOptionError(`${file}: ${z.prettifyError(read.error)}`);
  return read.data.models;
}

/** A positive number, whole if so asked. Throws an {@link EvalOptionError}. */
export function numberFrom(option: string, text: string, { whole = false } = {}): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number) && (!whole || Number.isInteger(number))) return number;
  throw new EvalOptionError(`${option} takes a ${whole ? "whole " : ""}number above 0, not ${text}.`);
}
