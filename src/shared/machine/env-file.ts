import { existsSync } from "node:fs";
import { parseEnv } from "node:util";
import { DocsAgentError } from "../errors.ts";
import { readSettingsText } from "./settings-text.ts";

/** A file with variables has lines that nobody can have meant. The message shows no values. */
export class EnvFileError extends DocsAgentError {
  readonly code = "env_file";
  readonly faults: readonly string[];

  constructor(path: string, faults: readonly string[]) {
    super(`Can't use ${path}. Fix it:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/**
 * Adds a file's variables to `env`, except for those that are set. A file that isn't there has
 * none. Returns the names of those that are set to something else. Throws an {@link EnvFileError}
 * after adding what can be read.
 */
export function loadEnvFile(path: string, env: Record<string, string | undefined>): string[] {
  if (!existsSync(path)) return [];
  const { text, fault } = readSettingsText(path);
  if (text === null) throw new EnvFileError(path, [fault]);
  const shadowed: string[] = [];
  for (const [name, value = ""] of Object.entries(parseEnv(text))) {
    const set = env[name];
    if (set === undefined) env[name] = value;
    else if (set.trim() !== value.trim()) shadowed.push(name);
  }
  const faults = envFileFaults(text);
  if (faults.length > 0) throw new EnvFileError(path, faults);
  return shadowed;
}

/** The variables of a file, which has none if it isn't there. Throws an {@link EnvFileError}. */
export function readEnvFile(path: string): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {};
  loadEnvFile(path, env);
  return env;
}

const SETTING = /^(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/;
const QUOTES = /^["'`]/;

/** What is wrong with lines of a file with variables. Node leaves such lines out without a word. */
export function envFileFaults(text: string): string[] {
  const faults: string[] = [];
  const strange: number[] = [];
  /** The last line of each name that has a value. */
  const filled = new Map<string, number>();
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", value = ""] = SETTING.exec(line) ?? [];
    if (name === "") {
      strange.push(at + 1);
      continue;
    }
    const before = filled.get(name);
    const isEmpty = /^(?:""|''|``)?\s*(?:#.*)?$/.test(value);
    if (!isEmpty) filled.set(name, at + 1);
    else if (before !== undefined) {
      faults.push(`${name} is on lines ${before} and ${at + 1}, and the last one is empty. Remove that.`);
    }
    const [quote] = QUOTES.exec(value) ?? [];
    if (quote === undefined || value.indexOf(quote, 1) !== -1) continue;
    const end = lines.findIndex((later, index) => index > at && later.includes(quote));
    if (end !== -1) at = end;
    else faults.push(`Line ${at + 1} opens a quote that nothing closes. Remove it: values need no quotes.`);
  }
  return strange.length === 0 ? faults : [strangeText(strange), ...faults];
}

const MAX_NAMED = 5;

function strangeText(lines: readonly number[]): string {
  const named = lines.slice(0, MAX_NAMED).join(", ");
  const more = lines.length > MAX_NAMED ? ` and ${lines.length - MAX_NAMED} more` : "";
  const what = lines.length === 1 ? `Line ${named} isn't` : `Lines ${named}${more} aren't`;
  return `${what} NAME=value. Write each setting on one line, with nothing before its name.`;
}
