import { z } from "zod";
import { toTimestamp } from "../../shared/contract/reading.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";
import { counted, cut } from "../../shared/text/text.ts";
import type { TurnKey } from "../jobs/rows.ts";
import { runnerState } from "../runners/runner-rules.ts";
import type { RunnerRow } from "../runners/runner-row.ts";
import { lineText, shownTable } from "./show.ts";

const MAX_SAID_CHARS = 40;

const ListedRunner = z.object({
  name: z.string(),
  id: z.string(),
  state: z.enum(["ready", "draining", "away", "revoked"]),
  isDraining: z.boolean(),
  version: z.string().nullable(),
  protocol: z.int().nullable(),
  places: z.int().nullable(),
  free: z.int().nullable(),
  turns: z.array(z.object({ job: z.string(), turn: z.int() })),
  seenAt: z.string().nullable(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
  /** Null stands for all. */
  projects: z.array(z.string()).nullable(),
  labels: z.array(z.string()),
});
type ListedRunner = z.infer<typeof ListedRunner>;

/** The runners, as JSON for programs. `jobsAtOnce` is how much the service's own runs at once. */
export const RunnerList = z.object({ jobsAtOnce: z.int(), runners: z.array(ListedRunner) });
export type RunnerList = z.infer<typeof RunnerList>;

/** The runners with how they stand and what they run, those of them that aren't revoked first. */
export function runnerList(
  rows: readonly RunnerRow[],
  {
    running,
    jobsAtOnce,
    nowMs,
  }: { running: ReadonlyMap<string, readonly TurnKey[]>; jobsAtOnce: number; nowMs: number },
): RunnerList {
  const runners = rows.map((row) => ({
    name: row.name,
    id: row.id,
    state: runnerState(row, nowMs),
    isDraining: row.isDraining,
    version: row.version,
    protocol: row.protocol,
    places: row.places,
    free: row.free,
    turns: (running.get(row.id) ?? []).map(({ jobId, number }) => ({ job: jobId, turn: number })),
    seenAt: timeOrNull(row.seenAt),
    createdAt: toTimestamp(row.createdAt),
    revokedAt: timeOrNull(row.revokedAt),
    projects: row.projects,
    labels: row.labels,
  }));
  const isRevoked = ({ state }: { state: string }) => Number(state === "revoked");
  return { jobsAtOnce, runners: runners.toSorted((a, b) => isRevoked(a) - isRevoked(b)) };
}

/** The same for people. */
export function runnersText({ jobsAtOnce, runners }: RunnerList): string {
  const own =
    jobsAtOnce === 0
      ? "The service has no runner of its own (jobsAtOnce: 0).\n"
      : `The service's own runner runs up to ${counted(jobsAtOnce, "turn")} at once (jobsAtOnce).\n`;
  if (runners.length === 0) {
    return `${own}There are no runners elsewhere. Add one: runners add <name> --project <id>\n`;
  }
  const rows = runners.map((runner) => [
    runner.name,
    runner.id,
    stateText(runner),
    runner.places === null ? "-" : `${runner.free ?? "?"} of ${runner.places}`,
    runner.turns.length === 0 ? "-" : runner.turns.map(({ job, turn }) => `${job} (${turn})`).join(", "),
    runner.version === null ? "-" : said(runner.version),
    runner.seenAt ?? "-",
    runner.projects === null ? "all" : runner.projects.join(", "),
    runner.labels.length === 0 ? "-" : runner.labels.map(said).join(", "),
  ]);
  const heads = ["NAME", "RUNNER", "STATE", "FREE", "RUNS", "VERSION", "SEEN", "PROJECTS", "LABELS"];
  return `${own}\n${shownTable([heads, ...rows])}`;
}

/** What a new runner is started with. This is the only time that its token is shown. */
export function addedText({
  name,
  projects,
  token,
  serviceUrl,
}: {
  name: string;
  projects: readonly string[] | null;
  token: string;
  serviceUrl: string | null;
}): string {
  return (
    `Added runner ${name} for ${projects?.join(", ") ?? "all projects"}. ` +
    "Its token is shown only once. Put these two lines into\n" +
    `.env on its machine, and start it there: ${commandOf("runner")}\n\n` +
    `RUNNER_SERVICE_URL=${serviceUrl ?? "https://<where this service is reached>"}\n` +
    `RUNNER_TOKEN=${token}\n`
  );
}

function stateText({ state, isDraining, seenAt, revokedAt }: ListedRunner): string {
  if (state === "revoked") return `revoked ${revokedAt ?? ""}`.trimEnd();
  if (state !== "away") return state;
  const away = seenAt === null ? "never seen" : `away since ${seenAt}`;
  return isDraining ? `${away}, draining` : away;
}

/** What a runner says of itself may be anything. */
function said(text: string): string {
  return lineText(cut(text, MAX_SAID_CHARS));
}

function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : toTimestamp(atMs);
}
