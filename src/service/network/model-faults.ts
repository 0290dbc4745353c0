import type { ServiceSettings } from "../config-schema.ts";
import type { NamedVariable } from "../env.ts";

/** What is wrong with the models of a settings file, taken together. Shows names only. */
export function modelFaults({ models, projects }: Pick<ServiceSettings, "models" | "projects">): string[] {
  const names = models.map(({ name }) => name);
  const twice = names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [`models[${index}].name must be there only once.`],
  );
  const ofProjects = projects.flatMap((project, index) => {
    const at = `projects[${index}]`;
    const unknown = (project.models ?? []).filter((name) => !names.includes(name));
    const exposed = new Set(
      models.map(({ keyEnv }) => keyEnv).filter((name) => project.agentEnv.includes(name)),
    );
    const used = models.filter(({ name }) => project.models?.includes(name) ?? true);
    const unpriced = project.budget.usd === undefined ? [] : used.filter(({ prices }) => isEmpty(prices));
    return [
      ...unknown.map(
        (name) =>
          `${at}.models must have only names that are under models. Add ${name} there, or remove it here.`,
      ),
      ...[...exposed].map(
        (name) =>
          `${at}.agentEnv must not have ${name}. Remove it: the agent gets a placeholder, and the service puts in the key.`,
      ),
      ...unpriced.map(
        ({ name }) => `${at}.budget.usd needs prices for the model ${name}. Add them, or remove usd.`,
      ),
      ...(used.length === 0 && !isEmpty(project.budget)
        ? [`${at}.budget needs a model. Add one under models: only those can be counted.`]
        : []),
    ];
  });
  return [...twice, ...ofProjects];
}

/** The variables that hold the models' keys. */
export function modelKeys({ models }: Pick<ServiceSettings, "models">): NamedVariable[] {
  return models.map(({ keyEnv }, index) => ({ place: `models[${index}].keyEnv`, name: keyEnv }));
}

function isEmpty(object: object): boolean {
  return Object.values(object).every((value) => value === undefined);
}
