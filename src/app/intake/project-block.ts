import type { KnownBlock } from "@slack/types";
import type { ChosenBecause, ProjectChoice } from "../rules/project-choice.ts";
import { entry, unstyled } from "../messages/blocks.ts";

/** The block and the action of the menu with the projects. */
export const PROJECT = "project";

/** The name of the project that a form begins with. Null if the person has to choose one. */
export function nameOfChoice(choice: ProjectChoice): string | null {
  return choice.kind === "chosen" ? choice.project.name : null;
}

/** Why a form begins with a project. One that somebody named needs no reason. */
const BECAUSE: Partial<Record<ChosenBecause, string>> = {
  channel: "This channel uses it. You can choose another one.",
  person: "You chose it last. You can choose another one.",
  first: "It's the first of the projects. You can choose another one.",
};

/** The menu with the projects. `project` is null if the person has to choose one. */
export function projectBlock(
  projects: string[],
  project: string | null,
  because?: ChosenBecause,
): KnownBlock {
  const hint = because === undefined ? undefined : BECAUSE[because];
  return {
    type: "input",
    block_id: PROJECT,
    label: unstyled("Project"),
    ...(hint === undefined ? {} : { hint: unstyled(hint) }),
    element: {
      type: "static_select",
      action_id: PROJECT,
      options: projects.map((name) => entry(name, name)),
      ...(project === null
        ? { placeholder: unstyled("Choose a project") }
        : { initial_option: entry(project, project) }),
    },
  };
}
