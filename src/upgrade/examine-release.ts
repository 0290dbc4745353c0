import { z } from "zod";
import { type DoctorFinding, findingText } from "../service/cli/finding.ts";
import type { Env } from "../service/config/env.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { jsonOf } from "../shared/text/text.ts";
import type { Releases } from "./releases.ts";
import { runToEnd } from "./run-to-end.ts";
import type { StoredState } from "./stored-state.ts";
import type { Units } from "./units.ts";

const DOCTOR_MS = 5 * 60_000;
/** How long programs that were started may take until all is well. */
const READY_WITHIN_MS = 2 * 60_000;
const AGAIN_AFTER_MS = 2_000;
const READY_MS = 10_000;

const Finding = z.object({
  of: z.string(),
  part: z.string(),
  level: z.enum(["ok", "warn", "fault"]),
  tried: z.string(),
  found: z.string(),
  todo: z.string().nullable(),
}) satisfies z.ZodType<DoctorFinding>;
const Findings = z.object({ findings: z.array(Finding) });

type Place = { folder: string; releases: Releases; state: StoredState; units: Units; env: Env; clock: Clock };

/** Asks a release's own doctor, as the user of the settings. Returns each fault in words. */
export async function askDoctor(release: string, { folder, releases, state, env }: Place): Promise<string[]> {
  const args = [releases.commandOf(release), "doctor", "--json", "--skip-checks"];
  const user = state.owner();
  const ran = await runToEnd(releases.nodeOf(release), args, {
    cwd: folder,
    env,
    timeLimitMs: DOCTOR_MS,
    user,
  });
  const read = Findings.safeParse(jsonOf(ran.stdout));
  if (!read.success) return [`FAULT  The doctor of ${release} ended without an answer.\n${ran.said}\n`];
  return read.data.findings.filter(({ level }) => level === "fault").map(findingText);
}

/** The same for a release whose units were started, until they have had time to get ready. */
export async function askDoctorOfRunning(
  release: string,
  running: readonly string[],
  place: Place,
): Promise<string[]> {
  const { clock, units } = place;
  const untilMs = clock.now() + READY_WITHIN_MS;
  for (;;) {
    // In this order, because a program that keeps failing may run while the doctor asks.
    const faults = await askDoctor(release, place);
    for (const unit of running) faults.push(...(await faultsOf(unit, place)));
    const isOver = faults.length === 0 || (await units.hasFailed(running)) || clock.now() > untilMs;
    if (isOver) return faults;
    await new Promise<void>((wake) => clock.wakeAt(clock.now() + AGAIN_AFTER_MS, wake));
  }
}

/** Whether a unit runs and its program can take requests. */
async function faultsOf(unit: string, { units, state }: Place): Promise<string[]> {
  const log = `Its log: journalctl -u ${unit}\n`;
  if (!(await units.isActive(unit))) return [`FAULT  ${unit} doesn't run. ${log}`];
  const url = state.readyUrl(unit);
  if (url === null) return [];
  const answer = await fetch(url, { signal: AbortSignal.timeout(READY_MS) }).catch(() => null);
  return answer?.ok === true ? [] : [`FAULT  ${unit} isn't ready to take requests (${url}). ${log}`];
}
