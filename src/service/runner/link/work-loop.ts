import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { detailsOf, faultText, operatorText, TransientRunError } from "../../base/run-error.ts";
import type { LocalRunner } from "../local/local-runner.ts";
import type { ThreadNote } from "./thread-note.ts";
import { type ClaimRequest, PROTOCOL, type LeasedWork, type WorkResult } from "../protocol.ts";
import type { ServiceProject } from "../../config/config.ts";
import { type Env, projectSecrets } from "../../config/env.ts";
import { learnSecret } from "../../base/redaction.ts";
import type { JobNotes, Lent, TurnAttachment } from "../runner.ts";
import { HeldWork } from "./held-work.ts";
import { LentTokens } from "./lent-tokens.ts";
import { modelsBehind } from "./models-behind.ts";
import { RunnerRefusedError, type ServiceLink, WorkLostError } from "./service-link.ts";

export type WorkLoopDeps = {
  link: ServiceLink;
  runner: LocalRunner;
  thread: ThreadNote;
  clock: Clock;
  logger: Logger;
  /** What the runner says of itself. */
  self: Pick<ClaimRequest, "version" | "machine" | "places" | "labels">;
  /** Resolves to the projects whose turns it may ask for. Null means all. */
  projects: () => Promise<ClaimRequest["projects"]>;
  /** A folder for the attachments of turns, for nothing else. */
  attachments: string;
  /** The runner's environment. */
  env: Env;
  /** True if the service lends keys, because this runner isn't its own. */
  isElsewhere: boolean;
};

/** How soon, and how seldom at most, a service that can't be reached is asked for work again. */
const AGAIN_MS = { first: 500, max: 15_000 };
/** What a refusal says must be mended by somebody first. */
const REFUSED_AGAIN_MS = 30_000;
/** How long an ending runner tries to say so. */
const LAST_WORDS_MS = 3_000;

/** Asks the service for work, does it, and says what came of it. */
export class WorkLoop {
  readonly #deps: WorkLoopDeps;
  readonly #session = randomUUID();
  readonly #ending = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  /** What is under way. */
  readonly #ids = new Set<string>();
  readonly #turns = new Set<HeldWork>();
  #isDraining = false;
  #asking = new AbortController();

  constructor(deps: WorkLoopDeps) {
    this.#deps = deps;
  }

  /** Makes room for attachments. */
  async open(): Promise<void> {
    await rm(this.#deps.attachments, { recursive: true, force: true });
    await mkdir(this.#deps.attachments, { recursive: true, mode: 0o700 });
  }

  /** Goes on until {@link WorkLoop.end}. Never rejects. */
  async run(): Promise<void> {
    const { clock, logger } = this.#deps;
    let waitMs = AGAIN_MS.first;
    while (!this.#ending.signal.aborted) {
      const askedMs = clock.monotonicMs();
      try {
        const work = await this.#ask();
        waitMs = AGAIN_MS.first;
        if (work !== null) this.#begin(work);
        // A service with nothing to do holds the question, so this one has another reason.
        else if (clock.monotonicMs() - askedMs < AGAIN_MS.first) await this.#rest(AGAIN_MS.first);
      } catch (thrown) {
        if (this.#ending.signal.aborted) return;
        const isRefused = thrown instanceof RunnerRefusedError;
        const fields = { problem: operatorText(thrown) };
        if (isRefused) logger.error(fields, "the job service refuses this runner; trying again");
        else logger.warn(fields, "the job service can't be asked for work; trying again");
        await this.#rest(isRefused ? REFUSED_AGAIN_MS : waitMs);
        waitMs = Math.min(waitMs * 2, AGAIN_MS.max);
      }
    }
  }

  /** Asks for no more turns, and resolves when those under way have ended. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#asking.abort();
    while (this.#turns.size > 0) await Promise.race(this.#underWay);
  }

  /** Aborts everything. Resolves when nothing is running anymore. */
  async end(): Promise<void> {
    this.#ending.abort(new Error("The runner ends"));
    await Promise.all(this.#underWay);
    await this.#deps.runner.settled();
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ending.signal }).catch(() => {});
  }

  async #ask(): Promise<LeasedWork | null> {
    const { link, self } = this.#deps;
    const projects = await this.#deps.projects();
    // The service doesn't count those that are somebody else's by now.
    const stopping = [...this.#turns].filter(({ isLost }) => isLost).length;
    const places = this.#isDraining ? 0 : Math.max(0, self.places - stopping);
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      const claim = { ...self, projects, protocol: PROTOCOL, session: this.#session, places };
      return await link.claim(claim, signal);
    } catch (thrown) {
      if (signal.aborted) return null;
      throw thrown;
    }
  }

  #begin(work: LeasedWork): void {
    // The service gave it again, because it didn't know that it had arrived.
    if (this.#ids.has(work.id)) return;
    this.#ids.add(work.id);
    const over = this.#deps.thread
      .during(work.run, () => this.#carryOut(work))
      .catch((thrown: unknown) => {
        this.#deps.logger.error({ err: thrown }, "a piece of work has no end");
      })
      .finally(() => {
        this.#underWay.delete(over);
        this.#ids.delete(work.id);
      });
    this.#underWay.add(over);
  }

  async #carryOut(work: LeasedWork): Promise<void> {
    const { link, clock, logger } = this.#deps;
    using held = new HeldWork({ link, clock, work, ending: this.#ending.signal });
    if (work.kind === "turn") this.#turns.add(held);
    const { signal: ending } = this.#ending;
    try {
      const result = await this.#do(work, held).catch((thrown: unknown): WorkResult =>
        ending.aborted ? { kind: "stopped" } : failed(thrown),
      );
      await held.finish();
      if (!held.isLost && !ending.aborted)
        await link.result(work, result, ending).catch(unlessEnding(ending));
      // A runner that ends says what came of it, or the service notices the end itself.
      if (!held.isLost && ending.aborted) await link.result(work, result, AbortSignal.timeout(LAST_WORDS_MS));
    } catch (thrown) {
      if (thrown instanceof WorkLostError) held.lose();
      else if (!ending.aborted) throw thrown;
    } finally {
      this.#turns.delete(held);
    }
    if (held.isLost) logger.warn({ work: work.id }, "work was lost to another attempt: it was stopped");
  }

  async #do(work: LeasedWork, held: HeldWork): Promise<WorkResult> {
    const { runner, link } = this.#deps;
    const { signal } = held;
    if (work.kind === "upkeep") {
      const { projects, unfinished } = work;
      await runner.upkeep({ projects, unfinished: new Set(unfinished), signal });
      return { kind: "upkeep" };
    }
    const notes: JobNotes = held.guarded(link.notesOf(work, signal));
    const { project, ...lent } = this.#lend(work);
    const given = { ...lent, notes, signal };
    switch (work.kind) {
      case "turn": {
        const folder = await mkdtemp(join(this.#deps.attachments, "turn-"));
        try {
          const attachments = await this.#fetchAttachments(work, folder, signal);
          const { report, ask } = held;
          const turn = { ...work.turn, ...given, project, attachments, report, ask };
          return { kind: "turn", result: await runner.run(turn) };
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      }
      case "diff":
        return { kind: "diff", diff: await runner.readDiff({ ...work.of, ...given, project }) };
      case "close":
        return { kind: "close", became: await runner.closePull({ ...work.of, ...given, project }) };
    }
  }

  /** The project as the work sees it, and what the service lends for it. */
  #lend(work: Exclude<LeasedWork, { kind: "upkeep" }>): { project: ServiceProject; lent?: Lent } {
    const { link, env, clock, isElsewhere } = this.#deps;
    const { project } = work.kind === "turn" ? work.turn : work.of;
    const behind = isElsewhere ? modelsBehind(project, link.modelsOf(work)) : { project, env: {} };
    // From now on they are kept out of logs.
    for (const secret of projectSecrets(behind.project, { ...env, ...behind.env })) learnSecret(secret);
    if (!isElsewhere) return { project };
    const tokens = new LentTokens({ env, link, work, clock });
    return {
      project: behind.project,
      lent: { env: behind.env, tokens, identity: (signal) => link.identity(work, signal) },
    };
  }

  async #fetchAttachments(
    work: Extract<LeasedWork, { kind: "turn" }>,
    folder: string,
    signal: AbortSignal,
  ): Promise<TurnAttachment[]> {
    const { attachments } = work.turn;
    const fetched: TurnAttachment[] = [];
    for (const [place, attachment] of attachments.entries()) {
      const path = join(folder, String(place));
      await this.#deps.link.attachment(work, place, path, signal);
      fetched.push({ ...attachment, path });
    }
    return fetched;
  }
}

function unlessEnding(ending: AbortSignal): (thrown: unknown) => void {
  return (thrown) => {
    if (!ending.aborted) throw thrown;
  };
}

function failed(error: unknown): WorkResult {
  const retryAfterMs = error instanceof TransientRunError ? error.retryAfterMs : null;
  return { kind: "failed", reason: faultText(error), details: [...detailsOf(error)], retryAfterMs };
}
