import type { Env } from "../service/config/env.ts";
import { runToEnd } from "./run-to-end.ts";
import { type Unit, UNITS, UpgradeError } from "./rules.ts";

/** More than a unit's own time for a stop. */
const LIMIT_MS = 3 * 60_000;

/** The programs' units of systemd, where they are installed. */
export class Units {
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  /** Those that run, or that systemd keeps starting. None where there is no systemd. */
  async running(): Promise<Unit[]> {
    const states = await Promise.all(UNITS.map(async (unit) => ({ unit, state: await this.#stateOf(unit) })));
    return states
      .filter(({ state }) => ["active", "activating", "failed"].includes(state))
      .map(({ unit }) => unit);
  }

  async isActive(unit: string): Promise<boolean> {
    return (await this.#stateOf(unit)) === "active";
  }

  /** True if systemd has given up one of these units. */
  async hasFailed(units: readonly string[]): Promise<boolean> {
    const states = await Promise.all(units.map((unit) => this.#stateOf(unit)));
    return states.includes("failed");
  }

  /** The app first, so that it doesn't find its service gone. */
  async stop(units: readonly string[]): Promise<void> {
    for (const unit of units.toReversed()) await this.#control("stop", unit);
  }

  async start(units: readonly string[]): Promise<void> {
    for (const unit of units) {
      // Earlier failures would count against this start.
      await this.#systemctl("reset-failed", unit);
      await this.#control("start", unit);
    }
  }

  async #stateOf(unit: string): Promise<string> {
    return (await this.#systemctl("is-active", unit)).stdout.trim();
  }

  async #control(verb: "stop" | "start", unit: string): Promise<void> {
    const { code, said } = await this.#systemctl(verb, unit);
    if (code !== 0) throw new UpgradeError(`systemctl can't ${verb} ${unit}. It says:\n${said.trim()}`);
  }

  #systemctl(verb: string, unit: string) {
    return runToEnd("systemctl", [verb, unit], { cwd: "/", env: this.#env, timeLimitMs: LIMIT_MS });
  }
}
