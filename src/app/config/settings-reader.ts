import { z } from "zod";
import { didYouMean } from "../../shared/text/did-you-mean.ts";

/** Reads settings from the environment, and collects what is wrong with them. */
export class SettingsReader {
  /** One sentence for each fault, in the order of reading. None contains a secret. */
  readonly faults: string[] = [];
  readonly #names = new Set<string>();
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /**
   * An empty value counts as absent: `NAME=` in a settings file means that nobody has filled it in.
   */
  given(name: string): string | undefined {
    this.#names.add(name);
    const value = this.#env[name]?.trim();
    return value === "" ? undefined : value;
  }

  /** A setting that may be absent. `rule` follows "must be". */
  read<T>(name: string, schema: z.ZodType<T>, rule: string, fallback: T): T {
    const value = this.given(name);
    if (value === undefined) return fallback;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.faults.push(`${name} must be ${rule}.`);
    return fallback;
  }

  /** A setting that must be given. `rule` follows "must be" and "Set it to". */
  need(name: string, schema: z.ZodType<string>, rule: string): string {
    if (this.given(name) === undefined) {
      this.faults.push(`${name} is missing. Set it to ${rule}.`);
      return "";
    }
    return this.read(name, schema, rule, "");
  }

  /** A time of at least a millisecond. */
  milliseconds(name: string, fallback: number): number {
    return this.read(name, whole(1, 1e12 - 1), "a whole number of milliseconds, at least 1", fallback);
  }

  /** A limit of requests. 0 means no limit. */
  requestsAnHour(name: string, fallback: number): number {
    const rule = "a whole number of requests an hour, or 0 for no limit";
    return this.read(name, whole(0, 999_999), rule, fallback);
  }

  /**
   * Adds a fault for each variable that looks like a misspelled setting. Other programs use the
   * environment, too, so only likely misspellings count. Short names resemble too many others.
   */
  findMisspelled(): void {
    const unset = [...this.#names].filter((name) => name.includes("_") && this.given(name) === undefined);
    for (const name of Object.keys(this.#env)) {
      const meant = this.#names.has(name) ? null : didYouMean(name, unset);
      if (meant !== null) this.faults.push(`${name} isn't a setting. Did you mean ${meant}?`);
    }
  }
}

/** A whole number with at most as many digits as the largest one. */
export function whole(min: number, max: number): z.ZodType<number> {
  return z
    .string()
    .regex(new RegExp(`^\\d{1,${String(max).length}}$`))
    .transform(Number)
    .refine((number) => number >= min && number <= max);
}
