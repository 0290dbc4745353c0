import type { ServerResponse } from "node:http";
import type { App, Receiver } from "@slack/bolt";

/** Slack waits 3 s, and then tells the person that the app didn't respond. */
const UNHANDLED_AFTER_MS = 3001;

type HttpReceiverOptions = {
  /** Logs what a listener threw. Returns the status if nothing was answered yet. */
  onFailure: (thrown: unknown, isAcknowledged: boolean) => number;
  /** Called when nothing acknowledged a request, or not in time. Slack gets 404. */
  onUnhandled: () => void;
};

/**
 * Hands Slack's requests over HTTP to Bolt. Bolt's own receiver would parse each request again, and
 * brings OAuth, which this app doesn't use.
 */
export class HttpReceiver implements Receiver {
  readonly #options: HttpReceiverOptions;
  #app: App | null = null;

  constructor(options: HttpReceiverOptions) {
    this.#options = options;
  }

  init(app: App): void {
    this.#app = app;
  }

  /** The program listens and closes. */
  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  /** Answers a request with what its listeners acknowledge it with. Never rejects. */
  async receive(body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    if (body["type"] === "url_verification") return answer(response, { challenge: body["challenge"] });
    const { onFailure, onUnhandled } = this.#options;
    let isAcknowledged = false;
    const late = setTimeout(() => {
      onUnhandled();
      end(response, 404);
    }, UNHANDLED_AFTER_MS);
    try {
      await this.#app?.processEvent({
        body,
        async ack(said: unknown) {
          if (isAcknowledged) throw new Error("A request from Slack was acknowledged twice.");
          isAcknowledged = true;
          clearTimeout(late);
          answer(response, said);
        },
      });
      // Nothing that is registered here is for it.
      if (isAcknowledged) return;
      clearTimeout(late);
      onUnhandled();
      end(response, 404);
    } catch (thrown) {
      clearTimeout(late);
      end(response, onFailure(thrown, response.headersSent));
    }
  }
}

/** Slack shows a text, or what JSON says. Nothing is shown for an empty answer. */
function answer(response: ServerResponse, said: unknown): void {
  if (response.headersSent) return;
  if (said === undefined || said === null || said === "") response.writeHead(200).end();
  else if (typeof said === "string") response.writeHead(200).end(said);
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
}

function end(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status).end();
}
