import type { ServiceSettings } from "../config-schema.ts";
import type { Env } from "../env.ts";

/** What is wrong with the models of a settings file, taken together. Shows names only. */
export function modelFaults({ models, projects }: Pick<ServiceSettings, "models" | "projects">): string[] {
  const names = models.map(({ name }) => name);
  const twice = names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [`models[${index}].name must differ from the names above.`],
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
          `${at}.models must not name ${name}, which isn't under models. Add it there, or name another.`,
      ),
      ...[...exposed].map(
        (name) =>
          `${at}.agentEnv must not name ${name}. The agent gets a placeholder for it, and the service puts in the key.`,
      ),
      ...unpriced.map(
        ({ name }) => `${at}.budget.usd needs prices for the model ${name}. Add them, or remove usd.`,
      ),
      ...(used.length === 0 && !isEmpty(project.budget)
        ? [
            `${at}.budget needs a model under models, because only those calls are counted. Add one, or remove budget.`,
          ]
        : []),
    ];
  });
  return [...twice, ...ofProjects];
}

/** The models whose keys are not set in the environment. */
export function unsetModelKeys({ models }: Pick<ServiceSettings, "models">, env: Env): string[] {
  return models.flatMap(({ keyEnv }, index) =>
    (env[keyEnv] ?? "").trim() === ""
      ? [`models[${index}].keyEnv names ${keyEnv}, which isn't set. Set it in the environment.`]
      : [],
  );
}

function isEmpty(object: object): boolean {
  return Object.values(object).every((value) => value === undefined);
}
