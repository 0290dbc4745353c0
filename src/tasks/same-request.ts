import { createHash } from "node:crypto";
import { projectKey } from "../core/project.ts";
import type { Read, Write } from "../core/records.ts";
import type { Request } from "../core/request.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

/** How long somebody else who asks for the same is told of a request. */
const TOLD_MS = 10 * 60_000;
/** Longer than Slack delivers again what was answered with that. */
const KEPT_MS = 2 * TOLD_MS;

/**
 * The running turn of somebody else who asked for the same, in the same words, in this channel within the last ten minutes. `offered`: the
 * person was already told of it, and this is a redelivery. A request in a thread, or with files, is never the same as another one.
 */
export function sameRequest(
  { clock }: Pick<TaskDeps, "clock">,
  read: Read,
  request: Request,
): Turn | "offered" | undefined {
  const id = askedId(request);
  const asked = id === null ? undefined : read("asked", id);
  if (asked === undefined) return undefined;
  if (read("reply", request.id) !== undefined) return "offered";
  const turn = read("turn", asked.turnId);
  if (turn === undefined || turn.stage.name === "ended") return undefined;
  const isRecent = clock.now() - turn.request.receivedAt < TOLD_MS;
  // Where its result goes to one person alone, nobody else can follow it.
  return isRecent && turn.request.userId !== request.userId && turn.delivery.away === null ? turn : undefined;
}

/** What to write with the turn of a request, so that {@link sameRequest} finds it. It holds no words. */
export function askedWrites(request: Request): Write[] {
  const id = askedId(request);
  return id === null
    ? []
    : [{ kind: "asked", id, record: { version: 1, turnId: request.id }, ttlMs: KEPT_MS }];
}

function askedId(request: Request): string | null {
  const { from, teamId, channelId, threadTs, messageTs, project, instructions, files } = request;
  const isInThread = threadTs !== null && threadTs !== messageTs;
  if ((from !== "command" && from !== "mention") || isInThread || files !== undefined) return null;
  const words = instructions.trim().toLowerCase().split(/\s+/).join(" ");
  const parts = JSON.stringify([teamId, channelId, projectKey(project), words]);
  return createHash("sha256").update(parts).digest("base64url").slice(0, 22);
}
