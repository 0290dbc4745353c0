import { DocsAgentError } from "../../shared/errors.ts";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import type { ServiceProject } from "../config/config.ts";
import { type ClaimRequest, LEASE_MS } from "../runner/protocol.ts";
import type { RunnerCaller } from "./caller.ts";
import { RunnerDesk } from "./desk.ts";
import type { Lending } from "./lending.ts";
import type { RunnerPool, Station } from "./pool.ts";
import { AWAY_AFTER_MS, mayRun } from "./runner-rules.ts";
import type { RunnerRow, RunnerSays } from "./runner-row.ts";

export type ElsewhereDeps = {
  runners: {
    byToken: (token: string) => RunnerRow | null;
    byId: (id: string) => RunnerRow | null;
    saw: (id: string, says: RunnerSays, nowMs: number) => void;
  };
  /** True if a turn is stored as running at this runner, with this lease. */
  isLeased: (lease: { workId: string; token: string; runnerId: string }) => boolean;
  pool: RunnerPool;
  lending: Lending;
  clock: Clock;
  logger: Logger;
};

/** A folder of a runner elsewhere, and the desk at which the runner gets its work. */
type Machine = {
  /** `<runner's id>/<machine>` */
  id: string;
  runnerId: string;
  desk: RunnerDesk;
  /** What it said last. Null until it has called since the service's start. */
  claim: ClaimRequest | null;
  row: RunnerRow;
  /** By the monotonic clock. */
  seenMs: number;
};

/** Each machine costs memory here, whoever asks in its name. */
const MAX_MACHINES = 100;
/** A machine that was quiet for so long is forgotten until it calls again. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;
const TAKEN_WITHIN_MS = 15_000;
/** As long as a lease, because a runner that can't stop its agent can't be told anything. */
const STOP_WITHIN_MS = LEASE_MS;

/** A machine may not have a desk beside those that are there. */
export class RunnerConflictError extends DocsAgentError {
  readonly code = "runner_conflict";
}

/** The runners on other machines: who calls, and what each machine has. */
export class RunnersElsewhere {
  readonly #deps: ElsewhereDeps;
  readonly #machines = new Map<string, Machine>();
  #isClosed = false;

  constructor(deps: ElsewhereDeps) {
    this.#deps = deps;
  }

  /** What stands behind a runner's token. Null if nothing does, or it was revoked. */
  callerOf(token: string): RunnerCaller | null {
    const row = this.#deps.runners.byToken(token);
    if (row === null) return null;
    const deskOf = (workId: string) =>
      this.#machines.values().find(({ runnerId, desk }) => runnerId === row.id && desk.has(workId))?.desk ??
      null;
    return {
      deskFor: (claim) => this.#deskFor(row, claim),
      deskOf,
      isExpected: (workId, leaseToken) =>
        this.#deps.isLeased({ workId, token: leaseToken, runnerId: row.id }),
      lend: this.#deps.lending.to(row, deskOf),
    };
  }

  /** The station that has a leased turn, or null if no runner elsewhere may have it. */
  stationOf({ runner }: { runner: string | null }): Station | null {
    const known = runner === null ? undefined : this.#machines.get(runner);
    if (known !== undefined) return this.#stationOf(known);
    const [runnerId = "", machine] = runner?.split("/") ?? [];
    const row = this.#deps.runners.byId(runnerId);
    return machine === undefined || row === null ? null : this.#stationOf(this.#add(row, machine));
  }

  /** True if some runner has work. */
  hasWork(): boolean {
    return this.#machines.values().some(({ desk }) => desk.size > 0);
  }

  /** Whoever waits for work gets none anymore. */
  close(): void {
    this.#isClosed = true;
    for (const { desk } of this.#machines.values()) desk.offered.endPolls();
  }

  #deskFor(row: RunnerRow, claim: ClaimRequest): ReturnType<RunnerCaller["deskFor"]> {
    const { runners, pool, clock, logger } = this.#deps;
    if (this.#isClosed) throw new RunnerConflictError("The service stops. Ask again.");
    this.#forget(FORGOTTEN_AFTER_MS);
    const known = this.#machines.get(`${row.id}/${claim.machine}`);
    if (known === undefined && this.#countOf(row.id) >= MAX_MACHINES) this.#forget(AWAY_AFTER_MS);
    if (known === undefined && this.#countOf(row.id) >= MAX_MACHINES) {
      throw new RunnerConflictError(`At most ${MAX_MACHINES} machines may share the token of a runner.`);
    }
    const machine = known ?? this.#add(row, claim.machine);
    if (machine.desk.offered.isAskedByAnother(claim.session)) {
      throw new RunnerConflictError(
        "Another runner uses the same data folder, or a copy of it. Stop one of them.",
      );
    }
    const isAnotherProcess = machine.claim !== null && machine.claim.session !== claim.session;
    if (isAnotherProcess && machine.desk.size > 0) {
      logger.warn(
        { runner: row.name, turns: machine.desk.size },
        "a runner was started again: its work runs again",
      );
      // Its folder has one process, so the one before is gone.
      machine.desk.lose(null);
    }
    if (machine.claim === null || isAnotherProcess) {
      logger.info(
        { runner: row.name, version: claim.version, places: claim.places },
        "a runner asks for work",
      );
    }
    Object.assign(machine, { claim, row, seenMs: clock.monotonicMs() });
    const { version, protocol, session, labels } = claim;
    runners.saw(row.id, { version, protocol, session, labels, ...this.#placesOf(row.id) }, clock.now());
    pool.add(this.#stationOf(machine));
    return { desk: machine.desk, onPlaces: () => pool.handOut() };
  }

  #add(row: RunnerRow, machine: string): Machine {
    const { clock, logger } = this.#deps;
    const desk = new RunnerDesk({
      clock,
      logger: logger.child({ runner: row.name }),
      leaseMs: LEASE_MS,
      takenWithinMs: TAKEN_WITHIN_MS,
      stopWithinMs: STOP_WITHIN_MS,
      onStuck: null,
    });
    const id = `${row.id}/${machine}`;
    const seenMs = clock.monotonicMs();
    const added: Machine = { id, runnerId: row.id, desk, claim: null, row, seenMs };
    this.#machines.set(added.id, added);
    return added;
  }

  #stationOf(machine: Machine): Station {
    const { lending, clock, runners } = this.#deps;
    const { id, desk, runnerId } = machine;
    // Read anew each time, because a command may have changed it meanwhile.
    const mayTake = () => runners.byId(runnerId)?.isDraining === false;
    return {
      id,
      runner: lending.runnerAt(desk),
      isElsewhere: true,
      takes: (project) => takes(machine, project),
      freePlaces: () => (mayTake() ? desk.offered.freePlaces : 0),
      reserve: () => desk.offered.reserve(),
      leave: (workId) => desk.leave(workId),
      isThere: () => clock.monotonicMs() - machine.seenMs < AWAY_AFTER_MS && mayTake(),
    };
  }

  /** The places of all machines of a runner that are there. */
  #placesOf(id: string): { places: number; free: number } {
    const { clock } = this.#deps;
    const sums = { places: 0, free: 0 };
    for (const { runnerId, claim, desk, seenMs } of this.#machines.values()) {
      if (runnerId !== id || claim === null || clock.monotonicMs() - seenMs >= AWAY_AFTER_MS) continue;
      sums.places += claim.places;
      sums.free += Math.max(0, claim.places - desk.offered.reserved);
    }
    return sums;
  }

  #countOf(id: string): number {
    return [...this.#machines.values()].filter(({ runnerId }) => runnerId === id).length;
  }

  /** Forgets machines that have nothing and were quiet for so long. */
  #forget(afterMs: number): void {
    const { clock, pool } = this.#deps;
    for (const { id, desk, seenMs } of this.#machines.values()) {
      if (desk.size > 0 || clock.monotonicMs() - seenMs < afterMs) continue;
      this.#machines.delete(id);
      pool.remove(id);
    }
  }
}

/** True if a machine's runner has the right, the keys and the labels for a project. */
function takes({ row, claim }: Machine, project: ServiceProject): boolean {
  if (claim === null) return false;
  const hasKeys = claim.projects?.includes(project.id) ?? true;
  return hasKeys && mayRun({ projects: row.projects, labels: claim.labels }, project);
}
