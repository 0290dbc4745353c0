import type { Project } from "./config/config-projects.ts";
import type { Config } from "./config/config.ts";
import { codeOrNameOf } from "./core/errors.ts";
import type { Logger } from "./core/ports/process.ts";
import { createHttpJobService } from "./job-client/http-job-service.ts";
import { trySlack } from "./slack/identity.ts";

/** An id that no job has. Reading it shows if the job service accepts the key. */
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

async function checkProject({ proxy, jobServiceTimeoutMs }: Config, project: Project) {
  const { name, id: projectId } = project;
  const service = createHttpJobService({ ...project, projectId, proxy, timeoutMs: jobServiceTimeoutMs });
  const answer = await service.getJob(NO_JOB);
  await service.close();
  if (answer.ok || answer.fault.kind === "missing") {
    // It answers the same where it has no such project.
    const open = `a request shows if it has the project ${projectId}`;
    return { name, found: `the job service answers and accepts the API key; ${open}`, isFault: false };
  }
  const remedy =
    answer.fault.status === undefined ? `. Correct the address ${project.baseUrl}, or start it` : "";
  return { name, found: `${answer.fault.message}${remedy}`, isFault: true };
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
