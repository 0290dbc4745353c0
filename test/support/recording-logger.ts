import type { Logger } from "../../src/shared/machine/ports.ts";

/** A line of a log. */
export type LogLine = { level: "debug" | "info" | "warn" | "error"; fields: object; message: string };

/** A logger that keeps its lines for the test. */
export class RecordingLogger implements Logger {
  readonly lines: LogLine[];
  /** Fields whose name a line would contain twice, as "message: field". */
  readonly repeated: string[];
  readonly #fields: object;

  constructor(lines: LogLine[] = [], fields: object = {}, repeated: string[] = []) {
    this.lines = lines;
    this.repeated = repeated;
    this.#fields = fields;
  }

  debug(fields: object, message: string): void {
    this.#log("debug", fields, message);
  }

  info(fields: object, message: string): void {
    this.#log("info", fields, message);
  }

  warn(fields: object, message: string): void {
    this.#log("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#log("error", fields, message);
  }

  child(fields: object): Logger {
    return new RecordingLogger(this.lines, { ...this.#fields, ...fields }, this.repeated);
  }

  /** Returns the lines of one level as text. */
  text(level: LogLine["level"]): string {
    return this.lines
      .filter((line) => line.level === level)
      .map(({ fields, message }) => `${message} ${JSON.stringify(fields)}`)
      .join("\n");
  }

  #log(level: LogLine["level"], fields: object, message: string): void {
    const twice = Object.keys(fields).filter((field) => field in this.#fields);
    this.repeated.push(...twice.map((field) => `${message}: ${field}`));
    this.lines.push({ level, fields: { ...this.#fields, ...fields }, message });
  }
}
