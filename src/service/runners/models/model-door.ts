import type { Usage } from "../../../shared/contract/turn.ts";
import { messageOf } from "../../../shared/errors.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { usedBeforeOf } from "../../network/gateway/turn-models.ts";
import { NETWORK_LIMITS } from "../../network/limits.ts";
import { sumOf } from "../../runner/runner.ts";
import { DoorProcess, type DoorProcessDeps } from "./door-process.ts";
import type { DoorProject, DoorSettings, FromDoor } from "./messages.ts";
import { passCall, refuseCall } from "./pass-call.ts";

/** What a piece of work may call, and who hears of it. */
export type DoorWork = {
  project: DoorProject;
  /** The usage of earlier attempts of the turn. It counts toward the budget. */
  usedBefore: Usage | null;
  /** Called with all that this attempt has used here, whenever a call has ended. */
  onUsage: (usage: Usage) => void;
  /** Called once, with a sentence for people, when no further call may be made. */
  onExceeded: (reason: string) => void;
};

/** An open piece of work. `at` is the process that knows it, if one does. */
type Open = DoorWork & {
  id: string;
  number: number;
  /** What it used at processes that have ended, and at this one. */
  before: Usage | null;
  now: Usage | null;
  reason: string | null;
  calls: number;
  at: DoorProcess | null;
  key: PromiseWithResolvers<string>;
  /** Set while it is being closed. */
  closed: PromiseWithResolvers<void> | null;
};

/**
 * The way of runners elsewhere to the models. Calls are made, and counted against the budget, by a
 * process of its own, which has the keys. It is started when it is needed, and again if it dies:
 * calls under way then fail as a provider's failure would, and what was counted stays counted.
 */
export class ModelDoor {
  readonly #deps: Pick<DoorProcessDeps, "settings" | "logger" | "pingEveryMs">;
  readonly #byId = new Map<string, Open>();
  /** With those that are being closed. */
  readonly #byNumber = new Map<number, Open>();
  #process: DoorProcess | null = null;
  #lastNumber = 0;

  constructor(settings: DoorSettings, logger: Logger, options: Pick<DoorProcessDeps, "pingEveryMs"> = {}) {
    this.#deps = { settings, logger, ...options };
  }

  /** From now on this piece of work may call the models of its project. */
  open(id: string, work: DoorWork): void {
    if (this.#byId.has(id)) throw new Error(`${id} is open already`);
    const number = (this.#lastNumber += 1);
    const open: Open = {
      ...work,
      id,
      number,
      before: null,
      now: null,
      reason: null,
      calls: 0,
      at: null,
      key: Promise.withResolvers(),
      closed: null,
    };
    this.#byId.set(id, open);
    this.#byNumber.set(number, open);
    this.#addressOf(open).catch(() => {});
  }

  /**
   * Ends a piece of work's calls. Resolves to all that it used here, or to null if it isn't open or
   * made no call.
   */
  async close(id: string): Promise<Usage | null> {
    const open = this.#byId.get(id);
    if (open === undefined) return null;
    this.#byId.delete(id);
    if (open.at !== null) {
      open.closed = Promise.withResolvers();
      open.at.tell({ kind: "close", work: open.number });
      await open.closed.promise;
    }
    this.#byNumber.delete(open.number);
    return usageOf(open);
  }

  /**
   * Hands a request to `…/models/<model>/…` on, and its answer back. Ends the call if the request's
   * signal aborts or nobody reads the answer any more. Never rejects.
   */
  async pass(id: string, request: Request): Promise<Response> {
    const open = this.#byId.get(id);
    if (open === undefined) {
      return refuseCall(request, { status: 404, message: "This piece of work may not call models now." });
    }
    if (open.calls >= NETWORK_LIMITS.connections) {
      return refuseCall(request, { status: 429, message: "Too many calls at once.", isShort: true });
    }
    open.calls += 1;
    let isUnderWay = true;
    const end = () => {
      if (isUnderWay) open.calls -= 1;
      isUnderWay = false;
    };
    try {
      return await passCall(request, await this.#addressOf(open), end);
    } catch (error) {
      end();
      this.#deps.logger.debug({ work: id, problem: messageOf(error) }, "no answer from the model door");
      const message = "The models can't be reached for a moment. Try again.";
      return refuseCall(request, { status: 502, message });
    }
  }

  /** Ends the process, and all calls with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#byId.clear();
    await this.#process?.close();
  }

  /** Starts the process if there is none, and opens the work there if it doesn't know it. */
  async #addressOf(open: Open) {
    const process = (this.#process ??= this.#start());
    if (open.at !== process) {
      open.at = process;
      open.key = Promise.withResolvers();
      const { number: work, id, project, usedBefore } = open;
      const { network, models, budget, limits } = project;
      process.tell({
        kind: "open",
        work,
        id,
        project: { id: project.id, network, models, budget, limits },
        usedBefore: usedBeforeOf(sumOf(usedBefore, open.before)),
      });
    }
    const [socketPath, key] = await Promise.all([process.listening, open.key.promise]);
    return { socketPath, key, work: open.number };
  }

  #start(): DoorProcess {
    const started: DoorProcess = new DoorProcess({
      ...this.#deps,
      onMessage: (message) => this.#take(message),
      onEnd: () => {
        if (this.#process === started) this.#process = null;
        for (const open of this.#byNumber.values()) {
          if (open.at !== started) continue;
          open.at = null;
          open.before = usageOf(open);
          open.now = null;
          open.key.promise.catch(() => {});
          open.key.reject(new Error("The model door ended."));
          open.closed?.resolve();
        }
      },
    });
    return started;
  }

  #take(message: Extract<FromDoor, { work: number }>): void {
    const open = this.#byNumber.get(message.work);
    if (open === undefined) return;
    if (message.kind === "opened") return open.key.resolve(message.key);
    if (message.kind === "exceeded") {
      if (open.reason !== null) return;
      open.reason = message.reason;
      if (open.closed === null) open.onExceeded(message.reason);
      return;
    }
    open.now = message.usage;
    if (message.kind === "closed") open.closed?.resolve();
    else if (open.closed === null) open.onUsage(usageOf(open) ?? message.usage);
  }
}

/** All that a piece of work has used here. Null if it made no call. */
function usageOf({ before, now }: Pick<Open, "before" | "now">): Usage | null {
  return sumOf(before, now?.calls === 0 ? null : now);
}
