import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isWithin } from "../base/paths.ts";
import { MAX_DATA_DIR_BYTES } from "../network/limits.ts";
import { runsCommand } from "./check-settings.ts";
import type { ServiceSettings } from "./config-schema.ts";
import { at } from "./place.ts";
import { pagesOf, repositoryKind } from "./repository.ts";

/** The machine's processes, devices and sockets. */
const MACHINE_FOLDERS = ["/proc", "/sys", "/run"];

type ProjectPaths = Pick<
  ServiceSettings["projects"][number],
  "repository" | "codeHost" | "agent" | "verify"
> & { commits: { signingKeyFile: string | null } };
/** The settings that name files and folders, with absolute paths. */
type Paths = { dataDir: string; projects: readonly ProjectPaths[] };

/**
 * Faults of the paths in the settings. Agents look for instructions in parent folders, and the
 * folders that they may read must not contain those that they may not.
 */
export function pathFaults({ dataDir, projects }: Paths): string[] {
  const hidden = new Map([[realPathOf(dataDir), "the dataDir"]]);
  for (const { codeHost, commits } of projects) {
    if (commits.signingKeyFile !== null) hidden.set(realPathOf(commits.signingKeyFile), "the signing key");
    const keyFile = codeHost.kind === "github" ? codeHost.app?.keyFile : undefined;
    if (keyFile !== undefined) hidden.set(realPathOf(keyFile), "the App's private key");
  }
  return [
    ...dataDirFaults("dataDir", dataDir),
    ...projects.flatMap(({ repository, codeHost, agent, verify }, index) => [
      ...shorthandFaults(["projects", index, "repository"], repository, codeHost),
      ...shownFaults(["projects", index, "agent", "readable"], agent.readable, hidden),
      ...briefFaults(["projects", index, "agent", "briefFile"], agent.briefFile),
      ...verify.flatMap((check, nth) => {
        if (!runsCommand(check)) return [];
        const shown = [...check.readable, ...check.mounts.map(({ from }) => from)];
        return shownFaults(["projects", index, "verify", nth], shown, hidden);
      }),
    ]),
  ];
}

/** Faults of a folder in which agents work, an absolute path. `name` is its setting. */
export function dataDirFaults(name: string, dataDir: string): string[] {
  const faults: string[] = [];
  if (Buffer.byteLength(dataDir) > MAX_DATA_DIR_BYTES) {
    faults.push(
      `${name} must be a path of at most ${MAX_DATA_DIR_BYTES} bytes, because the agents' ` +
        `sockets are in it. ${dataDir} is longer.`,
    );
  }
  if (/^\/(?:proc|sys)(?:\/|$)/.test(realPathOf(dataDir))) {
    faults.push(`${name} must be on a disk. Nobody can make files in ${dataDir}.`);
  }
  const workTree = workTreeOf(dataDir);
  if (workTree !== null) {
    faults.push(
      `${name} must be outside of the git work tree ${workTree}, whose files an agent could ` +
        "take for its own. Set it to another folder, for example " +
        `${join(dirname(workTree), "docs-agent-data")}.`,
    );
  }
  return faults;
}

/** `owner/repo` is a local path to us, although people know it as a repository's name. */
function shorthandFaults(
  place: PropertyKey[],
  repository: string,
  codeHost: ProjectPaths["codeHost"],
): string[] {
  if (codeHost.kind === "none" || repositoryKind(repository) !== "local" || existsSync(repository)) return [];
  const address = `${pagesOf(codeHost.apiUrl)}/${codeHost.owner}/${codeHost.repo}`;
  return [
    `${at(place)} is a local path, and there is no ${repository}. For the repository at the code ` +
      `host, write ${address}.`,
  ];
}

/** What a brief can't do without: where sources go, what is kept, where the project's part is. */
const BRIEF_PARTS = ["{{claims}}", "## In this project", "{{docs}}"];

function briefFaults(place: PropertyKey[], file: string | undefined): string[] {
  if (file === undefined) return [];
  try {
    const text = readFileSync(file, "utf8");
    const missing = BRIEF_PARTS.filter((part) => !text.includes(part));
    if (missing.length === 0) return [];
    return [`${at(place)} must be a brief with ${missing.join(", ")}. Begin with a copy of brief.md.`];
  } catch {
    return [`${at(place)} must be a file that the service can read. There is no ${file}.`];
  }
}

/** Finds parts of the machine that a sandbox must not show. */
function shownFaults(
  place: PropertyKey[],
  paths: readonly string[],
  hidden: ReadonlyMap<string, string>,
): string[] {
  return paths.flatMap((path) => {
    const real = realPathOf(path);
    const shows =
      [...hidden].find(([own]) => isWithin(real, own) || isWithin(own, real))?.[1] ??
      MACHINE_FOLDERS.find((folder) => isWithin(folder, real));
    if (shows === undefined) return [];
    return [
      `${at(place)} must not have ${path}, which would ` +
        `show the agent ${shows}. Name what it needs, and nothing above.`,
    ];
  });
}

/** Resolves the links in a path, as far as it exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPathOf(above), basename(path));
  }
}

function workTreeOf(folder: string): string | null {
  if (existsSync(join(folder, ".git"))) return folder;
  const above = dirname(folder);
  return above === folder ? null : workTreeOf(above);
}
