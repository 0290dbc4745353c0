import type { Clock } from "../../shared/machine/ports.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Runner, UpkeepInput } from "../runner/runner.ts";
import { mayRun } from "./runner-rules.ts";

/** A runner that may get turns: the service's own, or one elsewhere. */
export type Station = {
  /** What is stored of a turn's runner. */
  id: string;
  runner: Runner;
  /** True if it isn't a process of this service, so it outlives it. */
  isElsewhere: boolean;
  /** True if it may run turns of the project. */
  takes: (project: ServiceProject) => boolean;
  /** How many turns it could begin right now. */
  freePlaces: () => number;
  /** Keeps one of the free places. The returned function gives it back. */
  reserve: () => () => void;
  /** Leaves a turn to its runner, because the service stops. */
  leave: (workId: string) => void;
  /** False once nothing was heard of it for a while, or it is to take nothing more. */
  isThere: () => boolean;
};

/** A runner with a place for a turn. `release` gives it back. */
export type TurnPlace = { station: Station; release: () => void };

type Need = {
  project: ServiceProject;
  /** The station that has the agent's session, or null. */
  prefers: string | null;
  signal: AbortSignal;
};
type Waiter = Need & { sinceMs: number; give: (place: TurnPlace | null) => void };

/** How long a turn waits for the runner that has its agent's session. */
const PREFERRED_MS = 30_000;

/**
 * Says which runner a turn runs on, and limits how many of a project's turns run at once. Whoever
 * has waited longest and fits goes first.
 */
export class RunnerPool {
  readonly #clock: Clock;
  readonly #stations = new Map<string, Station>();
  readonly #taken = new Set<{ projectId: string }>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  #cancelLook = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a runner, or one that was there before in its place. */
  add(station: Station): void {
    this.#stations.set(station.id, station);
    this.handOut();
  }

  remove(id: string): void {
    this.#stations.delete(id);
  }

  /** All runners, the service's own first. */
  get stations(): Station[] {
    return [...this.#stations.values()].toSorted((one, other) => +one.isElsewhere - +other.isElsewhere);
  }

  station(id: string): Station | null {
    return this.#stations.get(id) ?? null;
  }

  /** Resolves to null once the pool is closed or the signal has aborted. */
  take(need: Need): Promise<TurnPlace | null> {
    return new Promise((resolve) => {
      this.#waiters.add({ ...need, sinceMs: this.#clock.monotonicMs(), give: resolve });
      need.signal.addEventListener("abort", () => this.handOut());
      this.handOut();
    });
  }

  /** The place of a turn that runs already. */
  takeUp(station: Station, projectId: string): TurnPlace {
    return this.#occupy(station, projectId, station.reserve());
  }

  /** A runner for something short that isn't a turn. Null if none is there. */
  runnerFor(project: ServiceProject): Runner | null {
    const there = this.stations.filter((each) => each.isThere());
    // The service's own has all keys, whatever the labels of its turns.
    return there.find((each) => !each.isElsewhere || each.takes(project))?.runner ?? null;
  }

  /**
   * Has every runner tidy up. Only the service's own removes merged branches: one elsewhere has the
   * code host's token only for a turn. Rejects as `Runner.upkeep` does.
   */
  async upkeep({
    projects,
    unfinishedOf,
    signal,
  }: Omit<UpkeepInput, "unfinished"> & {
    /** The jobs of these projects with an unfinished turn, or of all. */
    unfinishedOf: (projectIds: readonly string[] | null) => ReadonlySet<string>;
  }): Promise<void> {
    const all = this.stations.filter((each) => each.isThere());
    await Promise.all(
      all.map(({ runner, isElsewhere, takes }) => {
        if (!isElsewhere) return runner.upkeep({ projects, unfinished: unfinishedOf(null), signal });
        const its = projects.filter(takes).map((each) => ({ ...each, deleteMergedBranches: false }));
        // What others have in work is none of its business.
        const unfinished = unfinishedOf(its.map(({ id }) => id));
        return runner.upkeep({ projects: its, unfinished, signal });
      }),
    );
  }

  /** The number of running turns. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Everyone who waits, now or later, gets null. */
  close(): void {
    this.#closing.abort();
    this.handOut();
  }

  /** Aborts when the pool is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Call this when a runner has places. */
  handOut(): void {
    this.#cancelLook();
    let lookInMs = Infinity;
    for (const waiter of this.#waiters) {
      const isOver = waiter.signal.aborted || this.closed.aborted;
      const leftMs = waiter.sinceMs + PREFERRED_MS - this.#clock.monotonicMs();
      const station = isOver ? null : this.#stationFor(waiter, leftMs > 0);
      if (!isOver && station === null) {
        if (waiter.prefers !== null && leftMs > 0) lookInMs = Math.min(lookInMs, leftMs);
        continue;
      }
      this.#waiters.delete(waiter);
      waiter.give(station === null ? null : this.#occupy(station, waiter.project.id, station.reserve()));
    }
    if (lookInMs < Infinity)
      this.#cancelLook = this.#clock.wakeAt(this.#clock.now() + lookInMs, () => this.handOut());
  }

  #stationFor({ project, prefers }: Waiter, mayInsist: boolean): Station | null {
    const running = [...this.#taken].filter(({ projectId }) => projectId === project.id).length;
    if (running >= project.limits.jobsAtOnce) return null;
    const preferred = prefers === null ? null : this.station(prefers);
    if (mayInsist && preferred?.isThere() === true && preferred.takes(project)) {
      return preferred.freePlaces() > 0 ? preferred : null;
    }
    const [freest = null] = this.stations
      .filter((each) => each.takes(project) && each.freePlaces() > 0)
      .toSorted((one, other) => other.freePlaces() - one.freePlaces());
    return freest;
  }

  #occupy(station: Station, projectId: string, giveBack: () => void): TurnPlace {
    const taken = { projectId };
    this.#taken.add(taken);
    return {
      station,
      release: () => {
        if (!this.#taken.delete(taken)) return;
        giveBack();
        this.handOut();
      },
    };
  }
}

/** The service's own runner, which runs so many turns at once, of projects with these labels. */
export function ownStation(
  runner: Runner,
  { places, labels }: { places: number; labels: readonly string[] },
): Station {
  let taken = 0;
  return {
    id: OWN,
    runner,
    isElsewhere: false,
    takes: (project) => mayRun({ projects: null, labels }, project),
    freePlaces: () => places - taken,
    reserve: () => {
      taken += 1;
      return () => {
        taken -= 1;
      };
    },
    leave: () => {},
    isThere: () => true,
  };
}

/** The id of the service's own runner. */
const OWN = "own";
