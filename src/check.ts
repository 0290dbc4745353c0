import type { Project } from "./config/config-projects.ts";
import type { Config } from "./config/config.ts";
import { codeOrNameOf } from "./core/errors.ts";
import { offersFeed } from "./core/job/watching.ts";
import type { Logger } from "./core/ports/process.ts";
import { createHttpJobService } from "./job-client/http-job-service.ts";
import { trySlack } from "./slack/identity.ts";

/** An id that no job has. */
const NO_JOB = "docs-agent-check";

/**
 * Tries Slack and every project's job service without changing anything. Resolves to true if all
 * answer and accept the secrets.
 */
export async function check(config: Config, write: (line: string) => void): Promise<boolean> {
  let isFine = true;
  const trying = [trySlack(config.slack), ...config.projects.map((project) => checkProject(config, project))];
  for (const { name, found, isFault } of await Promise.all(trying)) {
    write(`${isFault ? "FAULT" : "ok   "}  ${name}: ${found}\n`);
    isFine &&= !isFault;
  }
  return isFine;
}

async function checkProject({ proxy, jobServiceTimeoutMs: timeoutMs }: Config, project: Project) {
  const { id: projectId, baseUrl } = project;
  const name = `Job service (project ${projectId})`;
  const service = createHttpJobService({ ...project, projectId, proxy, timeoutMs });
  await using _ = { [Symbol.asyncDispose]: () => service.close() };
  const answer = await service.getJob(NO_JOB);
  if (!answer.ok && answer.fault.kind !== "missing") {
    const remedy = answer.fault.status === undefined ? `. Correct the address ${baseUrl}, or start it` : "";
    return { name, found: `${answer.fault.message}${remedy}`, isFault: true };
  }
  if (!offersFeed(answer)) {
    // By the contract, it says the same of a job and of a project that it doesn't have.
    const open = "a request shows if it accepts the API key and has the project";
    return { name, found: `something answers at ${baseUrl}; ${open}`, isFault: false };
  }
  const feed = await service.changes(null, 0, AbortSignal.timeout(timeoutMs));
  if (feed.ok) return { name, found: "it answers, accepts the API key, and has the project", isFault: false };
  const found =
    feed.fault.kind === "missing"
      ? `it has no such project. Correct the project's id, or the address ${baseUrl}`
      : feed.fault.message;
  return { name, found, isFault: true };
}

/**
 * Warns of each job service that doesn't answer. It sends no key and asks for nothing, so any
 * answer will do.
 */
export async function warnOfSilence(config: Config, logger: Logger): Promise<void> {
  const { projects, jobServiceTimeoutMs: timeoutMs } = config;
  for (const origin of new Set(projects.map(({ baseUrl }) => new URL(baseUrl).origin))) {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      await fetch(origin, { method: "HEAD", redirect: "manual", signal });
    } catch (thrown) {
      const cause = (thrown instanceof Error && thrown.cause) || thrown;
      logger.warn(
        { service: new URL(origin).host, error: codeOrNameOf(cause) },
        "the job service doesn't answer; requests wait until it does",
      );
    }
  }
}
