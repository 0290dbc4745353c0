import { z } from "zod";
import { runsCommand } from "./check-settings.ts";
import type { ServiceProject } from "./config.ts";
import { gitVariables } from "./env.ts";
import { repositoryKind } from "./repository.ts";

/**
 * Something that a runner elsewhere must have itself to run a project's turns: a variable of its
 * environment, or a file or folder on its machine. `place` is the setting that names it.
 */
export const RunnerNeed = z.object({
  kind: z.enum(["variable", "path"]),
  name: z.string(),
  place: z.string(),
  /** False for a variable that may also be unset. */
  isRequired: z.boolean(),
});
export type RunnerNeed = z.infer<typeof RunnerNeed>;

/** What only the service uses: it hears of webhooks, and a runner doesn't. */
const OF_SERVICE = "codeHost.webhookSecretEnv";

/**
 * Everything that a runner elsewhere must have itself for a project. Tokens of an App and keys of
 * models aren't among it: the service has them.
 */
export function needsOf(project: ServiceProject): RunnerNeed[] {
  const { repository, context, agent, agentEnv, commits, verify } = project;
  const variables = gitVariables(project).filter(({ place }) => place !== OF_SERVICE);
  const named: { place: string; path: string | null | undefined }[] = [
    { place: "repository", path: localPath(repository) },
    ...context.map((each, index) => ({
      place: `context[${index}].repository`,
      path: localPath(each.repository),
    })),
    { place: "commits.signingKeyFile", path: commits.signingKeyFile },
    { place: "agent.briefFile", path: agent.briefFile },
    ...agent.readable.map((path) => ({ place: "agent.readable", path })),
    ...verify.flatMap((check, index) => {
      if (!runsCommand(check)) return [];
      const { readable, mounts } = check;
      return [...readable, ...mounts.map(({ from }) => from)].map((path) => ({
        place: `verify[${index}]`,
        path,
      }));
    }),
  ];
  return [
    ...variables.map(({ name, place }) => ({ kind: "variable" as const, name, place, isRequired: true })),
    ...agentEnv.map((name) => ({ kind: "variable" as const, name, place: "agentEnv", isRequired: false })),
    ...named.flatMap(({ place, path }) =>
      path ? [{ kind: "path" as const, name: path, place, isRequired: true }] : [],
    ),
  ];
}

function localPath(repository: string): string | null {
  return repositoryKind(repository) === "local" ? repository : null;
}
