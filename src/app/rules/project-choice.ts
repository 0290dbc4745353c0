import { configuredProject } from "./ports/job-service.ts";
import type { Refusal } from "./ports/notifier.ts";
import { type ProjectRef, projectKey } from "./project.ts";

/**
 * The configured projects, never none, and the channels that use one, by its name. Where no channel
 * does, the first project is the default.
 */
export type ProjectSettings = {
  projects: readonly [ProjectRef, ...ProjectRef[]];
  projectOfChannel: ReadonlyMap<string, string>;
};

/** Why a request has its project. */
export type ChosenBecause = "option" | "channel" | "person" | "only" | "first";

/**
 * The project of a request, or `ask` if only the person can say, or the refusal of a name that no
 * project has.
 */
export type ProjectChoice =
  | { kind: "chosen"; project: ProjectRef; because: ChosenBecause }
  | { kind: "ask" }
  | Extract<Refusal, { kind: "unknown-project" }>;

/**
 * The one rule for a request's project: what the person names, then the channel's, then the one
 * that they chose last, then the only one. If none of these says it, the person is asked, or gets
 * the first where no channel has a project.
 */
export function chooseProject(
  { projects, projectOfChannel }: ProjectSettings,
  asked: { option: string | null; channelId: string; last: Pick<ProjectRef, "service" | "id"> | null },
): ProjectChoice {
  const { option, channelId, last } = asked;
  const named = (name: string) =>
    projects.find((project) => project.name.toLowerCase() === name.toLowerCase());
  if (option !== null) {
    const project = named(option);
    if (project !== undefined) return { kind: "chosen", project, because: "option" };
    return { kind: "unknown-project", name: option, known: projects.map(({ name }) => name) };
  }
  const [first] = projects;
  if (projects.length === 1) return { kind: "chosen", project: first, because: "only" };
  const ofChannel = named(projectOfChannel.get(channelId) ?? "");
  if (ofChannel !== undefined) return { kind: "chosen", project: ofChannel, because: "channel" };
  const theirs = last === null ? undefined : configuredProject(projects, last);
  if (theirs !== undefined) return { kind: "chosen", project: theirs, because: "person" };
  return asksForProject({ projectOfChannel })
    ? { kind: "ask" }
    : { kind: "chosen", project: first, because: "first" };
}

/** True if nobody gets a project that neither they nor the operator has chosen. */
export function asksForProject({ projectOfChannel }: Pick<ProjectSettings, "projectOfChannel">): boolean {
  return projectOfChannel.size > 0;
}

/**
 * True if a person's choice says what they mean the next time, too: it differs from what they would
 * have got, and that isn't what their channel uses.
 */
export function isWorthKeeping(chosen: ProjectRef, without: ProjectChoice): boolean {
  if (without.kind !== "chosen") return true;
  return without.because !== "channel" && projectKey(without.project) !== projectKey(chosen);
}
