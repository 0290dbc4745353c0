import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { DoctorFinding } from "../service/cli/finding.ts";
import { readServiceSettings, serviceFindings } from "../doctor/service-findings.ts";
import type { ServiceConfig } from "../service/config/config.ts";
import type { Env } from "../service/config/env.ts";
import type { ModelKind } from "../service/network/gateway/model-kinds.ts";
import type { Session } from "./session.ts";
import type { CodeHostAccess, SetupState } from "./setup-state.ts";
import { commandOf, isPackage } from "../shared/machine/this-copy.ts";

/** The id of the project that is set up. */
export const SETUP_PROJECT = "docs";
/** The variable with the code host's token. */
export const TOKEN_ENV = "DOCS_GITHUB_TOKEN";
/** Beside a clone, because agents take what lies above their work for theirs. */
export const DATA_DIR = isPackage ? "./data" : "../docs-agent-data";
const GITHUB_API = "https://api.github.com";

/** The variable with the key of a model of this kind. */
export function modelKeyEnv(kind: ModelKind): string {
  return `DOCS_${kind.toUpperCase()}_KEY`;
}

type Answers = {
  repository: NonNullable<SetupState["repository"]>;
  agent: SetupState["agent"];
};

/** The job service's settings that the answers make. Without an agent, one that does nothing. */
export function serviceSettings({ repository, agent }: Answers, { options }: Session, port: number): object {
  const { address, owner, repo, baseBranch, checks, access } = repository;
  const { codeHostUrl, containment, modelUrl } = options;
  return {
    listen: { host: "127.0.0.1", port },
    dataDir: DATA_DIR,
    ...(containment === "none" && { containment }),
    ...(agent !== undefined && {
      models: [
        {
          name: agent.kind,
          kind: agent.kind,
          ...(modelUrl !== undefined && { baseUrl: modelUrl }),
          keyEnv: modelKeyEnv(agent.kind),
        },
      ],
    }),
    projects: [
      {
        id: SETUP_PROJECT,
        repository: address,
        baseBranch,
        agent: agent === undefined ? { kind: "command", command: ["true"] } : { preset: agent.preset },
        codeHost: {
          kind: "github",
          ...(codeHostUrl !== GITHUB_API && { apiUrl: codeHostUrl }),
          owner,
          repo,
          ...accessSettings(access),
        },
        ...(checks.length > 0 && { verify: checks }),
      },
    ],
  };
}

function accessSettings(access: CodeHostAccess): object {
  if (access.kind === "token") return { tokenEnv: TOKEN_ENV };
  const { id, keyFile, installationId } = access;
  return { app: { id, keyFile, installationId } };
}

/** The text of `service.yml`. */
export function settingsText(settings: object, nowMs: number): string {
  const date = new Date(nowMs).toISOString().slice(0, 10);
  const head = `# Written by ${commandOf("setup")} on ${date}. service.example.yml describes every setting.`;
  return `${head}\n${stringify(settings)}`;
}

type Trying = { env: Env; session: Session; callModel: boolean; parts: readonly string[] };

/**
 * Tries settings that aren't written yet, in a temporary folder, as `config check` would. Yields
 * what it found of `parts`, and returns the settings as they were read, or null.
 */
export async function* trySettings(
  settings: object,
  { env, session, callModel, parts }: Trying,
): AsyncGenerator<DoctorFinding, ServiceConfig | null> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-setup-"));
  try {
    const path = join(folder, "service.yml");
    await writeFile(path, stringify({ ...settings, dataDir: join(folder, "data") }));
    const read = readServiceSettings(path, env);
    if ("faults" in read) {
      yield* read.faults;
      return null;
    }
    const { clock } = session;
    const how = { callModel, skipChecks: true, onProgress() {}, configOption: "" };
    for await (const finding of serviceFindings({ ...how, config: read.config, env, clock })) {
      if (parts.some((part) => finding.part.startsWith(part))) yield finding;
    }
    return read.config;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
