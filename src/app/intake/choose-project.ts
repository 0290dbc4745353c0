import { chooseProject, isWorthKeeping, type ProjectChoice } from "../rules/project-choice.ts";
import { askingForProject } from "../rules/decisions/accept.ts";
import type { ProjectRef } from "../rules/project.ts";
import { PERSON_KEPT_MS, personId, type Write } from "../rules/records.ts";
import type { Request } from "../rules/turn/request.ts";
import { assertStoreSafe } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";

type Asker = Pick<Request, "teamId" | "userId" | "channelId">;

/**
 * The project of a person's request, by the one rule for it. `option` is what they named. Rejects
 * if the store can't say what they chose last, where that counts.
 */
export async function projectFor(
  deps: Pick<IntakeDeps, "projects" | "projectOfChannel" | "records">,
  asker: Asker,
  option: string | null,
): Promise<ProjectChoice> {
  const { channelId } = asker;
  const without = chooseProject(deps, { option, channelId, last: null });
  if (without.kind !== "ask" && !(without.kind === "chosen" && without.because === "first")) return without;
  const { project: last = null } = (await deps.records.get("person", personId(asker))) ?? {};
  return chooseProject(deps, { option, channelId, last });
}

/** Like {@link projectFor}, but logs why the store can't say it, and returns that. */
export async function lookUpProject(
  deps: Parameters<typeof projectFor>[0] & Pick<IntakeDeps, "logger">,
  asker: Asker,
  option: string | null,
): Promise<ProjectChoice | { kind: "unavailable"; thrown: unknown }> {
  try {
    return await projectFor(deps, asker, option);
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not look up what project a request is for");
    return { kind: "unavailable", thrown };
  }
}

/** Keeps a request, and asks its person privately which project it is for. */
export async function askForProject(
  deps: Pick<IntakeDeps, "queue" | "isStoreUnsafe">,
  request: Request,
): Promise<void> {
  assertStoreSafe(deps);
  return deps.queue.commit((read) => askingForProject(read, request));
}

/** Remembers the project that a person chose, if that says something about their next request. */
export async function rememberProject(deps: IntakeDeps, asker: Asker, project: ProjectRef): Promise<void> {
  if (isWorthKeeping(project, await projectFor(deps, asker, null))) await setProject(deps, asker, project);
}

/** Sets the project that a person's requests get where nothing else says it. Null: none. */
export function setProject(
  { queue }: Pick<IntakeDeps, "queue">,
  person: Pick<Asker, "teamId" | "userId">,
  project: ProjectRef | null,
): Promise<void> {
  const id = personId(person);
  return queue.commit((read) => {
    const { project: _, ...known } = read("person", id) ?? {};
    const record = { ...known, version: 1 as const, ...(project !== null && { project }) };
    const write: Write = { kind: "person", id, record, ttlMs: PERSON_KEPT_MS };
    return { writes: [write], value: undefined };
  });
}
