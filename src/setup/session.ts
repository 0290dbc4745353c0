import { join, resolve } from "node:path";
import type { Clock } from "../shared/machine/ports.ts";
import type { Env } from "../service/config/env.ts";
import { EnvFile } from "./settings-files.ts";
import { readSetupState, type SetupState, writeSetupState } from "./setup-state.ts";

/** What a setup is told on its command line. */
export type SetupOptions = {
  /** The folder for both settings files. */
  folder: string;
  /** The code host's API, for GitHub Enterprise. */
  codeHostUrl: string;
  /** The address of the model's API, if it isn't the provider's own. */
  modelUrl: string | undefined;
  containment: "required" | "none";
};

type SessionDeps = SetupOptions & {
  /** The environment of this process. It counts more than `.env`. */
  env: Env;
  clock: Clock;
  version: string;
};

/** The only file of a setup beside the settings. It holds no secret. */
const STATE_FILE = ".docs-agent-setup.json";

/** One setup: what was answered so far, and where it is kept. It can be taken up again. */
export class Session {
  readonly options: SetupOptions;
  readonly clock: Clock;
  readonly version: string;
  readonly #own: Env;
  readonly #envFile: EnvFile;
  readonly #stateFile: string;
  #state: SetupState;

  constructor({ env, clock, version, ...options }: SessionDeps) {
    this.options = { ...options, folder: resolve(options.folder) };
    this.clock = clock;
    this.version = version;
    this.#own = env;
    this.#stateFile = this.file(STATE_FILE);
    this.#state = readSetupState(this.#stateFile);
    this.#envFile = new EnvFile(this.file(".env"), () => clock.wallMs(), this.#state.ownsEnv);
    // What is wrong with it is said before anything else.
    this.#envFile.read();
  }

  /** A path in the folder. */
  file(name: string): string {
    return join(this.options.folder, name);
  }

  get state(): Readonly<SetupState> {
    return this.#state;
  }

  /** Keeps answers. */
  keep(change: Partial<SetupState>): void {
    this.#state = { ...this.#state, ...change };
    writeSetupState(this.#stateFile, this.#state);
  }

  /** Keeps secrets, and other variables, where both programs read them. */
  keepVariables(values: Readonly<Record<string, string | undefined>>): void {
    this.#envFile.set(values);
    if (!this.#state.ownsEnv) this.keep({ ownsEnv: true });
  }

  /** The variables as both programs will see them, `more` among them. */
  env(more: Env = {}): Env {
    return { ...this.#envFile.read(), ...this.#own, ...more };
  }

  get slackApiUrl(): string {
    return this.env()["SLACK_API_URL"]?.trim() || "https://slack.com/api/";
  }
}
