import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../../shared/machine/ports.ts";
import { type Env, networkOf } from "../../config/env.ts";
import { faultAnswer, ModelCallFault } from "../../network/gateway/model-trouble.ts";
import { openTurnModels } from "../../network/gateway/turn-models.ts";
import { createBoundedLogger, NETWORK_LIMITS, TurnTraffic } from "../../network/limits.ts";
import type { FromDoor, ToDoor } from "./messages.ts";

type OpenOrder = Extract<ToDoor, { kind: "open" }>;
type OpenWork = { models: ReturnType<typeof openTurnModels>; ended: AbortController };
type Deps = { env: Env; logger: Logger; tell: (message: FromDoor) => void };

/** The same as for an agent on this machine, but bodies come from another one. */
const LIMITS = { ...NETWORK_LIMITS, modelRequestMs: 2 * 60_000 };

/** The pieces of work that may call models now, each with a gateway and a budget of its own. */
export class OpenWorks {
  readonly #deps: Deps;
  readonly #works = new Map<number, OpenWork>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Tells the key that its calls carry, and from then on what they use. */
  open({ work, id, project, usedBefore }: OpenOrder): void {
    const { env, tell } = this.#deps;
    const logger = createBoundedLogger(
      this.#deps.logger.child({ project: project.id, work: id }),
      LIMITS.logLines,
    );
    const ended = new AbortController();
    setMaxListeners(0, ended.signal);
    const onExceeded = (reason: string) => tell({ kind: "exceeded", work, reason });
    const network = networkOf(project, env);
    const traffic = new TurnTraffic(network.maxBytes, (reason) => {
      onExceeded(reason);
      ended.abort();
    });
    const models = openTurnModels(
      {
        ...network,
        usedBefore,
        onUsage: (usage) => tell({ kind: "usage", work, usage }),
        onLeftOut: ({ upstream, kind, name }) =>
          logger.warn({ upstream, [kind]: name }, "left out of calls to the model: not on its allow list"),
      },
      { onExceeded, traffic, limits: LIMITS, logger, signal: ended.signal },
    );
    this.#works.set(work, { models, ended });
    tell({ kind: "opened", work, key: models.placeholderKey });
  }

  /** Ends a piece of work's calls, and tells what they used. */
  async close(work: number): Promise<void> {
    const open = this.#works.get(work);
    if (open === undefined) return;
    this.#works.delete(work);
    open.ended.abort();
    await open.models.close();
    this.#deps.tell({ kind: "closed", work, usage: open.models.usage() });
  }

  /** Answers a request to `/<work>/models/…`, as the gateway of that piece of work does. */
  readonly answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [, work, target] = /^\/(\d{1,15})(\/.*)$/.exec(request.url ?? "") ?? [];
    const open = this.#works.get(Number(work));
    if (open === undefined || target === undefined) {
      const fault = faultAnswer(new ModelCallFault(404, "There is nothing at this address."));
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    request.url = target;
    void open.models.gateway.answer(request, response);
  };
}
