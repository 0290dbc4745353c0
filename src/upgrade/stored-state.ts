import { existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { loadServiceConfig, type ServiceConfig } from "../service/config/config.ts";
import type { Env } from "../service/config/env.ts";
import { stateFileOf } from "../service/jobs/state-file.ts";
import { DEFAULT_STORE_URL } from "../app/dump/program.ts";
import { readEnvFile } from "../shared/machine/env-file.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { ownFile } from "../shared/store/sqlite/file-owner.ts";
import { StoreInUseError } from "../shared/store/store-errors.ts";
import { copyFor, moveTo, refuseLink } from "./durable.ts";
import { UpgradeError } from "./rules.ts";
import { isRedisUrl } from "../shared/store/redis/redis-location.ts";

const SETTINGS = [".env", "service.yml"];
/** How long a program that was stopped may take to leave its files. */
const LEFT_WITHIN_MS = 10_000;
/** What a release changes when it takes a request or works on one. */
const WORK = {
  app: "SELECT key, value FROM kv WHERE key LIKE 'turn:%' ORDER BY key",
  service: "SELECT job_id, number, state, agent_runs FROM turns ORDER BY job_id, number",
} as const;

const ANY_HOST = "0.0.0.0";

function readyUrlAt(host: string, port: string | number): string {
  const name = host === ANY_HOST ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}/readyz`;
}

/** One program's SQLite file. */
type StateFile = { of: keyof typeof WORK; path: string };

/** Removes a copy that {@link StoredState.copyTo} has made, or has begun. */
export function removeCopy(backupFolder: string): void {
  for (const path of [nameUntilWhole(backupFolder), backupFolder]) {
    rmSync(path, { recursive: true, force: true });
  }
}

function nameUntilWhole(backupFolder: string): string {
  return `${backupFolder}.new`;
}

/** What both programs have stored, as far as it is in files, and their settings. */
export class StoredState {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #env: Env;
  readonly #service: ServiceConfig | null;
  /** True if the app's state is on Redis, which several versions may use at once. */
  readonly isOnRedis: boolean;
  readonly #files: readonly StateFile[];

  /**
   * Reads the settings in the folder. Throws if the job service's can't be read, if something is a
   * link, or if a state file isn't the settings' owner's: root would change a file of another's.
   */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
    for (const name of this.#settings()) refuseLink(join(folder, name));
    this.#env = readEnvFile(join(folder, ".env"));
    const url = this.#env["STORE_URL"]?.trim() || DEFAULT_STORE_URL;
    this.isOnRedis = isRedisUrl(url);
    const settings = join(folder, "service.yml");
    this.#service = existsSync(settings) ? loadServiceConfig(settings, null) : null;
    this.#files = [
      ...(url.startsWith("sqlite://")
        ? [{ of: "app" as const, path: resolve(folder, url.slice("sqlite://".length)) }]
        : []),
      ...(this.#service === null ? [] : [{ of: "service" as const, path: stateFileOf(this.#service) }]),
    ].filter(({ path }) => existsSync(path));
    const owner = this.owner();
    for (const { path } of this.#files) {
      refuseLink(path);
      if (owner === null || lstatSync(path).uid === owner.uid) continue;
      throw new UpgradeError(`${path} isn't a file of the user who has the settings. Give it to them.`);
    }
  }

  /** Where a unit's program answers whether it can take requests. Null if that isn't known. */
  readyUrl(unit: string): string | null {
    const { HOST: host = ANY_HOST, PORT: port = "3000" } = this.#env;
    if (unit === "docs-agent") return readyUrlAt(host, port);
    return this.#service && readyUrlAt(this.#service.listen.host, this.#service.listen.port);
  }

  /** True if there are settings. */
  hasSettings(): boolean {
    return this.#settings().length > 0;
  }

  #settings(): string[] {
    return SETTINGS.filter((name) => existsSync(join(this.#folder, name)));
  }

  /** The user whose settings these are, if this process may act for them, or null. */
  owner(): { uid: number; gid: number } | null {
    if (process.getuid?.() !== 0) return null;
    const [name] = this.#settings();
    if (name === undefined) return null;
    const { uid, gid } = lstatSync(join(this.#folder, name));
    return uid === 0 ? null : { uid, gid };
  }

  /**
   * Makes sure that no program uses the files, until it is disposed. Null if one goes on with them.
   * It doesn't create the files of the locks, which would be this user's.
   */
  async own(): Promise<Disposable | null> {
    using owned = new DisposableStack();
    try {
      for (const { path } of this.#files) {
        if (existsSync(`${path}-owner`)) owned.use(await ownFile(path, this.#clock, LEFT_WITHIN_MS));
      }
      return owned.move();
    } catch (thrown) {
      if (thrown instanceof StoreInUseError) return null;
      throw thrown;
    }
  }

  /** Copies files and settings into a new folder. */
  async copyTo(backupFolder: string): Promise<void> {
    const made = nameUntilWhole(backupFolder);
    mkdirSync(dirname(made), { recursive: true, mode: 0o700 });
    refuseLink(dirname(made));
    rmSync(made, { recursive: true, force: true });
    mkdirSync(made, { mode: 0o700 });
    for (const { of, path } of this.#files) {
      using db = new DatabaseSync(path);
      await backup(db, join(made, `${of}.sqlite`));
    }
    for (const name of this.#settings()) copyFor(null, join(this.#folder, name), join(made, name));
    moveTo(made, backupFolder);
  }

  /**
   * True if a request was taken or worked on since the copy was made, or if that can't be told.
   * Leaves each file without a log beside it.
   */
  hasWorkedSince(backupFolder: string): boolean {
    return this.#files.some(({ of, path }) => {
      try {
        using db = new DatabaseSync(path);
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        using copy = new DatabaseSync(join(backupFolder, `${of}.sqlite`));
        return JSON.stringify(db.prepare(WORK[of]).all()) !== JSON.stringify(copy.prepare(WORK[of]).all());
      } catch {
        return true;
      }
    });
  }

  /** Puts the copies back, with the owner and rights that the files have. */
  restore(backupFolder: string): void {
    for (const { of, path } of this.#files) {
      const made = `${path}-restored`;
      copyFor(lstatSync(path), join(backupFolder, `${of}.sqlite`), made);
      for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
      moveTo(made, path);
    }
  }
}
