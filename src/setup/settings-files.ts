import { existsSync, readFileSync } from "node:fs";
import { StartError } from "../shared/errors.ts";
import { readEnvFile } from "../shared/machine/env-file.ts";
import { writePrivateFile } from "./setup-state.ts";
import { commandOf } from "../shared/machine/this-copy.ts";

/** Without what has a meaning in the file. */
const PLAIN_VALUE = /^[^\s#"'`\\$]+$/;

/**
 * A settings file that may be there already. Before the first change, what is there is copied
 * beside it.
 */
export class SettingsFile {
  readonly path: string;
  readonly #nowMs: () => number;
  #isKept: boolean;

  /** `isOurs` is true if what is there needs no copy. */
  constructor(path: string, nowMs: () => number, isOurs = false) {
    this.path = path;
    this.#nowMs = nowMs;
    this.#isKept = isOurs;
  }

  /** The text that is there. Empty if there is none. */
  text(): string {
    return existsSync(this.path) ? readFileSync(this.path, "utf8") : "";
  }

  replace(text: string): void {
    if (!this.#isKept && existsSync(this.path)) {
      const time = new Date(this.#nowMs()).toISOString().replaceAll(/\D/g, "").slice(0, 14);
      writePrivateFile(`${this.path}.bak-${time}`, this.text());
    }
    this.#isKept = true;
    writePrivateFile(this.path, text);
  }
}

/** The file `.env`, which both programs read. */
export class EnvFile {
  readonly #file: SettingsFile;

  constructor(path: string, nowMs: () => number, isOurs: boolean) {
    this.#file = new SettingsFile(path, nowMs, isOurs);
  }

  /** Its variables. Throws an `EnvFileError` if nobody can have meant a line of it. */
  read(): Record<string, string | undefined> {
    return readEnvFile(this.#file.path);
  }

  /**
   * Sets variables, each on the line that it has. An undefined one is removed. Other lines stay.
   */
  set(values: Readonly<Record<string, string | undefined>>): void {
    const before = this.#file.text();
    const lines =
      before === "" ? [`# Written by ${commandOf("setup")}. .env.example describes every variable.`] : [];
    lines.push(...before.split("\n").filter((line, index, all) => line !== "" || index < all.length - 1));
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined && !PLAIN_VALUE.test(value)) {
        throw new StartError(`The value for ${name} has a space, a quote, # or $, which .env can't hold.`);
      }
      const at = lines.findIndex((line) => line.trimStart().startsWith(`${name}=`));
      if (value === undefined) {
        if (at !== -1) lines.splice(at, 1);
      } else if (at === -1) lines.push(`${name}=${value}`);
      else lines[at] = `${name}=${value}`;
    }
    const after = `${lines.join("\n")}\n`;
    if (after !== before) this.#file.replace(after);
  }
}
