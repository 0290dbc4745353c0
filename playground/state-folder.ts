import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { DocsAgentError, messageOf } from "../src/shared/errors.ts";
import { WorkspaceSnapshot } from "../world/slack/index.ts";
import { commandOf } from "../src/shared/machine/this-copy.ts";

/** The playground can't use the files in its folder. */
export class StateFolderError extends DocsAgentError {
  readonly code = "state_folder";
}

/**
 * The made-up credentials that the parts of one playground use among each other. They open nothing
 * outside it.
 */
const Secrets = z.object({
  version: z.literal(1),
  botToken: z.string(),
  signingSecret: z.string(),
  codeHostToken: z.string(),
  /** Null until the job service has made one. */
  apiKey: z.string().nullable(),
});
export type Secrets = z.infer<typeof Secrets>;

/**
 * Everything that a playground keeps between two runs, in one folder. It is locked until it is
 * disposed of.
 */
export type StateFolder = Disposable & {
  file(name: string): string;
  secrets(): Secrets;
  saveSecrets(secrets: Secrets): void;
  workspace(): WorkspaceSnapshot | undefined;
  saveWorkspace(snapshot: WorkspaceSnapshot): void;
};

/** The name of a file that marks a folder as ours, so that `--fresh` empties no other folder. */
const MARK = "docs-agent-playground";

/** The name of a file that is locked while a playground runs on the folder. `--fresh` keeps it. */
const IN_USE = "in-use";

/**
 * Opens or makes the folder at `path` for one playground at a time. `isFresh` empties it first.
 * While another playground uses the folder, it throws a {@link StateFolderError} at once and
 * changes nothing.
 */
export function openStateFolder(path: string, isFresh: boolean): StateFolder {
  const file = (name: string) => join(path, name);
  let lock: DatabaseSync | undefined;
  try {
    if (isFresh && existsSync(path) && !existsSync(file(MARK))) {
      throw new StateFolderError(
        `${path} isn't a playground's folder, so --fresh won't empty it. Remove it yourself, or ` +
          "choose another with --dir.",
      );
    }
    mkdirSync(path, { recursive: true });
    lock = lockFolder(path, file(IN_USE));
    if (isFresh) empty(path);
    mkdirSync(file("logs"), { recursive: true });
    writeFileSync(
      file(MARK),
      `${commandOf("playground")} keeps its state here; ${commandOf("playground", "--fresh")} empties it.\n`,
    );
  } catch (thrown) {
    lock?.close();
    if (thrown instanceof StateFolderError) throw thrown;
    throw new StateFolderError(`Can't write to ${path} (${messageOf(thrown)}). Choose another with --dir.`);
  }

  return {
    file,
    secrets: () => read(file("secrets.json"), Secrets) ?? newSecrets(),
    saveSecrets: (secrets) => write(file("secrets.json"), secrets),
    workspace: () => read(file("workspace.json"), WorkspaceSnapshot),
    saveWorkspace: (snapshot) => write(file("workspace.json"), snapshot),
    [Symbol.dispose]() {
      if (lock.isOpen) lock.close();
    },
  };
}

/**
 * Takes a lock of the operating system. The lock ends with this process, even if the process is
 * killed.
 */
function lockFolder(path: string, lockFile: string): DatabaseSync {
  const lock = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (thrown) {
    lock.close();
    if (!isBusy(thrown)) throw thrown;
    throw new StateFolderError(
      `Another playground is using ${path}. Stop it with Ctrl-C in its terminal, or start this ` +
        "one in another folder and on other ports: " +
        commandOf("playground", "--dir data/second --port 4500"),
    );
  }
}

const SQLITE_BUSY = 5;

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && "errcode" in thrown && thrown.errcode === SQLITE_BUSY;
}

/** Empties the folder but keeps the lock's file, so that another playground finds the same one. */
function empty(path: string): void {
  for (const name of readdirSync(path)) {
    if (!name.startsWith(IN_USE)) rmSync(join(path, name), { recursive: true });
  }
}

function newSecrets(): Secrets {
  return {
    version: 1,
    botToken: `xoxb-playground-${randomBytes(16).toString("hex")}`,
    signingSecret: randomBytes(16).toString("hex"),
    codeHostToken: `playground_${randomBytes(16).toString("hex")}`,
    apiKey: null,
  };
}

function read<T>(file: string, schema: z.ZodType<T>): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return schema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    throw new StateFolderError(
      `This version can't read ${file}. Start over with ${commandOf("playground", "--fresh")}.`,
    );
  }
}

/**
 * Writes a new file and moves it over the old one, so that a kill in between leaves the old one.
 */
function write(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
