import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DocsAgentError, messageOf } from "../src/errors.ts";
import { WorkspaceSnapshot } from "../emulators/slack/index.ts";

/** What the playground finds in its folder cannot be used. */
export class StateFolderError extends DocsAgentError {
  readonly code = "state_folder";
}

/** The made-up credentials between the parts of one playground. They open nothing outside it. */
const Secrets = z.object({
  version: z.literal(1),
  botToken: z.string(),
  signingSecret: z.string(),
  codeHostToken: z.string(),
  /** Null until the job service has made one. */
  apiKey: z.string().nullable(),
});
export type Secrets = z.infer<typeof Secrets>;

/** Everything a playground keeps between two runs, in one folder. */
export type StateFolder = {
  file(name: string): string;
  secrets(): Secrets;
  saveSecrets(secrets: Secrets): void;
  workspace(): WorkspaceSnapshot | undefined;
  saveWorkspace(snapshot: WorkspaceSnapshot): void;
};

/** A file that marks a folder as ours, so that `--fresh` empties no other. */
const MARK = "docs-agent-playground";

/** Opens, or makes, the folder at `path`. `isFresh`: empties it first. Throws a {@link StateFolderError}. */
export function openStateFolder(path: string, isFresh: boolean): StateFolder {
  const file = (name: string) => join(path, name);
  try {
    if (isFresh && existsSync(path)) {
      if (!existsSync(file(MARK))) {
        throw new StateFolderError(
          `${path} is no folder of a playground, so --fresh does not empty it. Remove it yourself, or name another with --dir.`,
        );
      }
      rmSync(path, { recursive: true });
    }
    mkdirSync(file("logs"), { recursive: true });
    writeFileSync(
      file(MARK),
      "npm run playground keeps its state here; npm run playground -- --fresh empties it.\n",
    );
  } catch (thrown) {
    if (thrown instanceof StateFolderError) throw thrown;
    throw new StateFolderError(`${path} cannot be written (${messageOf(thrown)}). Name another with --dir.`);
  }

  return {
    file,
    secrets: () => read(file("secrets.json"), Secrets) ?? newSecrets(),
    saveSecrets: (secrets) => write(file("secrets.json"), secrets),
    workspace: () => read(file("workspace.json"), WorkspaceSnapshot),
    saveWorkspace: (snapshot) => write(file("workspace.json"), snapshot),
  };
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
      `${file} cannot be read by this version. Start over with npm run playground -- --fresh.`,
    );
  }
}

/** Written beside it and moved over it, so that a kill in between leaves the old one. */
function write(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
