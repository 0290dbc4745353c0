import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../app/config/config.ts";
import { createHttpJobService } from "../app/job-client/http-job-service.ts";
import { tryChannel } from "../app/slack/connection/try-channel.ts";
import { checkDraft } from "../service/cli/check-draft.ts";
import type { ServiceConfig } from "../service/config/config.ts";
import type { Env } from "../service/config/env.ts";
import { messageOf } from "../shared/errors.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { asDoctorFinding, type DoctorFinding, splitAdvice } from "../service/cli/finding.ts";
import { commandOf } from "../shared/machine/this-copy.ts";

const TURN_WITHIN_MS = 20 * 60_000;
const LOOK_EVERY_MS = 2_000;
const PROMPT =
  "This is a test by the operator of this service. Read one page of the documentation, change nothing, " +
  "and end your turn with one sentence about that page.";

/** Where the doctor may try the real thing. */
export type LivePlace = { channel: string; branch: string };

type Trying = LivePlace & { env: Env; clock: Clock; onProgress: (line: string) => void };

/**
 * Tries what the other checks can't, once: a message in the channel, a draft from the branch, and a
 * turn of each project's agent that changes nothing.
 */
export async function* liveFindings(
  { app, service }: { app: Config | null; service: ServiceConfig | null },
  { channel, branch, env, clock, onProgress }: Trying,
): AsyncGenerator<DoctorFinding> {
  if (app !== null) {
    for await (const finding of tryChannel(app.slack, channel)) {
      yield asDoctorFinding("live", `did it in ${channel}`, finding);
    }
  }
  for (const project of service?.projects ?? []) {
    onProgress(`${project.id}: opening and closing a draft`);
    const about = {
      of: "live",
      part: `draft (${project.id})`,
      tried: `opened and closed one from ${branch}`,
    };
    yield await checkDraft(project, { branch, env, clock }).then(
      (url): DoctorFinding => ({ ...about, level: "ok", found: url, todo: null }),
      (thrown: unknown): DoctorFinding => ({ ...about, level: "fault", ...splitAdvice(messageOf(thrown)) }),
    );
  }
  for (const project of app?.projects ?? []) {
    onProgress(`${project.id}: a turn that changes nothing`);
    yield await turnFinding(project, app?.proxy);
  }
}

async function turnFinding(
  project: Config["projects"][number],
  proxy: Config["proxy"] | undefined,
): Promise<DoctorFinding> {
  const about = { of: "live", part: `turn (${project.id})`, tried: "had its agent read a page" };
  const where = { ...project, projectId: project.id, timeoutMs: 15_000 };
  const service = createHttpJobService({ ...where, ...(proxy !== undefined && { proxy }) });
  await using _ = { [Symbol.asyncDispose]: () => service.close() };
  let answer = await service.createJob(PROMPT, randomUUID());
  const giveUpMs = performance.now() + TURN_WITHIN_MS;
  while (answer.ok && answer.job.status === "active" && performance.now() < giveUpMs) {
    await sleep(LOOK_EVERY_MS);
    answer = await service.getJob(answer.job.id);
  }
  if (!answer.ok) return { ...about, level: "fault", ...splitAdvice(answer.fault.message) };
  const { status, id, prLink } = answer.job;
  if (prLink !== null) {
    return {
      ...about,
      level: "warn",
      found: `It changed something: ${prLink}`,
      todo: "Close the pull request.",
    };
  }
  if (status === "completed")
    return { ...about, level: "ok", found: "it ended without a change", todo: null };
  const todo = `Run ${commandOf("service", `jobs show ${id}`)}`;
  const found = status === "active" ? "It still runs." : `It ended as ${status}.`;
  return { ...about, level: "fault", found, todo };
}
