import type { ServiceSettings } from "./config-schema.ts";
import { meantValue } from "../../shared/text/did-you-mean.ts";
import { isBaseBranch } from "./branches.ts";
import { gitVariables } from "./env.ts";
import { forkAt, ownerAndRepo } from "./repository.ts";

type ProjectSettings = ServiceSettings["projects"][number];

/** Faults that concern several settings at once. Shows only names. */
export function crossFaults({ models, projects }: ServiceSettings): string[] {
  const names = models.map(({ name }) => name);
  const ids = projects.map(({ id }) => id.toLowerCase());
  const twice = (all: string[], place: (index: number) => string) =>
    all.flatMap((one, index) => {
      const first = all.indexOf(one);
      return first === index ? [] : [`${place(index)}: ${place(first)} is "${one}", too. Choose another.`];
    });
  return [
    ...twice(ids, (index) => `projects[${index}].id`),
    ...twice(names, (index) => `models[${index}].name`),
    ...projects.flatMap((project, index) => {
      const place = `projects[${index}]`;
      const checks = project.verify.map(({ name }) => name.toLowerCase());
      const used = models.filter(({ name }) => project.models?.includes(name) ?? true);
      const unknown = (project.models ?? []).filter((name) => !names.includes(name));
      const inAgentEnv = (all: string[], why: string) =>
        [...new Set(all)]
          .filter((name) => project.agentEnv.includes(name))
          .map((name) => `${place}.agentEnv must not have ${name}. Remove it: ${why}`);
      const contexts = project.context.map(({ name }) => name);
      return [
        ...otherRepository(project, place),
        ...baseFaults(project, place),
        ...commitFaults(project, place),
        ...forkFaults(project, place),
        ...twice(checks, (at) => `${place}.verify[${at}].name`),
        ...twice(contexts, (each) => `${place}.context[${each}].name`),
        ...inAgentEnv(
          gitVariables(project).map(({ name }) => name),
          "the agent may not see what git and the code host are used with.",
        ),
        ...unknown.map(
          (name) =>
            `${place}.models must have only names that are under models. ` +
            (meantValue(name, names) === null
              ? `Add ${name} there, or remove it here.`
              : `Did you mean ${meantValue(name, names)}?`),
        ),
        ...inAgentEnv(
          models.map(({ keyEnv }) => keyEnv),
          "the agent gets a placeholder, and the service puts in the key.",
        ),
        ...budgetFaults(project, used).map((fault) => `${place}.${fault}`),
        ...moneySettings(project).flatMap((setting) =>
          used
            .filter(({ prices }) => isEmpty(prices))
            .map(
              ({ name }) =>
                `${place}.${setting} needs prices for the model ${name}. Add them under ` +
                `models[${names.indexOf(name)}].prices, or remove ${setting.split(".").at(-1)}.`,
            ),
        ),
      ];
    }),
  ];
}

/** The settings of a project that count money. */
function moneySettings({ budget, limits }: Pick<ProjectSettings, "budget" | "limits">): string[] {
  const { usdPerDay, usdPerMonth } = limits;
  const all = { "budget.usd": budget.usd, "limits.usdPerDay": usdPerDay, "limits.usdPerMonth": usdPerMonth };
  return Object.entries(all).flatMap(([setting, value]) => (value === undefined ? [] : [setting]));
}

/** Without a model of the service's, nothing of a turn can be counted. */
function budgetFaults(project: ProjectSettings, used: readonly unknown[]): string[] {
  if (used.length > 0) return [];
  const ofLimits = moneySettings(project).filter((setting) => setting.startsWith("limits."));
  const all = isEmpty(project.budget) ? ofLimits : ["budget", ...ofLimits];
  return all.map((setting) => `${setting} needs a model. Add one under models: only those can be counted.`);
}

/** The service writes to no base branch, and git keeps branches like files in folders. */
function baseFaults({ baseBranch, pullRequests: { branchPrefix } }: ProjectSettings, place: string) {
  if (isBaseBranch(baseBranch, branchPrefix)) return [];
  return [
    `${place}.baseBranch leaves no room for the branches of jobs, which begin with ` +
      `pullRequests.branchPrefix. Change one of the two.`,
  ];
}

/** Pull requests of one repository can't show the branches of another. */
function otherRepository({ repository, codeHost }: ProjectSettings, place: string): string[] {
  if (codeHost.kind === "none") return [];
  const { owner, repo, apiUrl } = codeHost;
  const named = ownerAndRepo(repository, apiUrl);
  if (named === null || named.toLowerCase() === `${owner}/${repo}`.toLowerCase()) return [];
  return [`${place}.repository is ${named}, but its codeHost is ${owner}/${repo}. Correct one of them.`];
}

function commitFaults({ codeHost, commits }: ProjectSettings, place: string): string[] {
  const { name, email, signingKeyFile, by } = commits;
  if (by === "api") {
    const chosen = Object.entries({ name, email, signingKeyFile }).filter(([, value]) => value !== undefined);
    return [
      ...(codeHost.kind === "none"
        ? [`${place}.commits.by: api needs a code host. Set it to git, or set codeHost.`]
        : []),
      ...chosen.map(
        ([key]) =>
          `${place}.commits.${key} can't be used with by: api, because the code host says whose the ` +
          "commits are and signs them. Remove it, or set by to git.",
      ),
    ];
  }
  if (signingKeyFile === undefined || (name !== undefined && email !== undefined)) return [];
  return [
    `${place}.commits.signingKeyFile needs name and email. Set both to those of the account that the ` +
      "key belongs to: an App has no keys.",
  ];
}

function forkFaults({ repository, codeHost, pullRequests, commits }: ProjectSettings, place: string) {
  const { fork } = pullRequests;
  if (fork === undefined) return [];
  const at = `${place}.pullRequests.fork`;
  if (codeHost.kind === "none") return [`${at} needs a code host. Remove it, or set codeHost.`];
  const named = `${codeHost.owner}/${codeHost.repo}`;
  return [
    ...(fork.toLowerCase() === named.toLowerCase() ? [`${at} is the repository itself. Remove it.`] : []),
    ...(forkAt(repository, named, fork) === null
      ? [`${at} needs a repository whose address ends with ${named}. Correct ${place}.repository.`]
      : []),
    ...(codeHost.app === undefined
      ? []
      : [
          `${at} needs codeHost.tokenEnv in place of app: an App's token is for one repository. Use a ` +
            "token of the account that owns the fork.",
        ]),
    ...(commits.by === "api" ? [`${at} can't be used with commits.by: api. Set that to git.`] : []),
  ];
}

function isEmpty(object: object): boolean {
  return Object.values(object).every((value) => value === undefined);
}
