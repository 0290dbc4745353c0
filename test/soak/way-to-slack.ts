import { setTimeout as sleep } from "node:timers/promises";
import { ConnectProxy } from "../../world/faults/connect-proxy.ts";
import { startHookedProxy } from "../../world/faults/hooked-proxy.ts";
import type { ReplicaFault, StrikePoint } from "./replica-plan.ts";

type How = Extract<ReplicaFault, { do: "slack-away" }>["how"];
type Strike = { point: Extract<StrikePoint, { at: "post" }>; left: number; act: () => void };

const MOODS = { refuse: "hang-up", silent: "hang", deaf: "open" } as const;

/**
 * The way to Slack of one replica: a proxy at the edge of its network, which all of its calls pass.
 */
export class WayToSlack implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack;
  readonly #edge: ConnectProxy;
  #strikes: Strike[] = [];
  #cut: { how: How; over: Promise<void> } | null = null;
  /** The number of calls that a cut kept from Slack, or whose answers it kept. */
  #blocked = 0;

  private constructor(resources: AsyncDisposableStack, edge: ConnectProxy) {
    this.#resources = resources;
    this.#edge = edge;
  }

  static async open(slackUrl: string): Promise<WayToSlack> {
    const resources = new AsyncDisposableStack();
    const hooked = resources.use(
      await startHookedProxy(slackUrl, (phase, what) =>
        way.#pass(phase, what === "POST /api/chat.postMessage"),
      ),
    );
    const edge = resources.use(await ConnectProxy.start({ leadsTo: Number(new URL(hooked.url).port) }));
    const way = new WayToSlack(resources, edge);
    return way;
  }

  /** The address, for `HTTP_PROXY`. */
  get url(): string {
    return this.#edge.url;
  }

  /**
   * Acts at once, or at the post that the point names, or after `patienceMs` without such a post.
   * Resolves after it has acted.
   */
  async strike(point: StrikePoint, patienceMs: number, act: () => void): Promise<void> {
    if (point.at === "now") {
      act();
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const strike = { point, left: point.calls, act: () => (act(), resolve()) };
    this.#strikes.push(strike);
    const timer = setTimeout(() => this.#strikeNow(strike), patienceMs);
    await promise;
    clearTimeout(timer);
  }

  /**
   * Cuts this way for `forMs`. Resolves to the number of calls and connections that this affected.
   */
  async cut(how: How, forMs: number): Promise<number> {
    const askedBefore = this.#edge.asked.length;
    const blockedBefore = this.#blocked;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#cut = { how, over: promise };
    this.#edge.mood = MOODS[how];
    await sleep(forMs);
    this.#edge.mood = "open";
    this.#cut = null;
    resolve();
    const refused = how === "deaf" ? 0 : this.#edge.asked.length - askedBefore;
    return this.#blocked - blockedBefore + refused;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #pass(phase: "before" | "after", isPost: boolean): Promise<boolean> {
    if (isPost) {
      for (const strike of this.#strikes.filter(({ point }) => point.phase === phase)) {
        strike.left -= 1;
        if (strike.left <= 0) this.#strikeNow(strike);
      }
    }
    const cut = this.#cut;
    if (cut === null || phase !== (cut.how === "deaf" ? "after" : "before")) return false;
    this.#blocked += 1;
    if (cut.how === "silent") await cut.over;
    return true;
  }

  #strikeNow(strike: Strike): void {
    if (!this.#strikes.includes(strike)) return;
    this.#strikes = this.#strikes.filter((other) => other !== strike);
    strike.act();
  }
}
