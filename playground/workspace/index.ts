import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { closeNow, listenOnLoopback } from "../../world/loopback-server.ts";
import type { SlackSide } from "../../world/slack/index.ts";
import { readAssets } from "./assets.ts";
import { Changes } from "./changes.ts";
import { EventRetries } from "./event-retries.ts";
import { readAppSurface } from "./manifest.ts";
import { createPageApp, type PageLogger } from "./page-app.ts";
import type { Example, PageLink } from "./page-protocol.ts";
import { ReadMarks } from "./read-marks.ts";
import type { WeatherControls } from "./weather.ts";

export { readAppSurface } from "./manifest.ts";
export type { PageLogger } from "./page-app.ts";
export type { Example, PageLink, PageState, WeatherAction, WeatherState } from "./page-protocol.ts";
export { seedWorkspace } from "./seed.ts";
export { createWeatherControls, WeatherStuck } from "./weather.ts";
export type { WeatherCallbacks, WeatherControls } from "./weather.ts";

/** Options of {@link createWorkspacePage}. */
export type WorkspacePageOptions = {
  slack: SlackSide;
  weather: WeatherControls;
  /** @default 0, a free port */
  port?: number;
  /** Loopback only. @default "127.0.0.1" */
  host?: "127.0.0.1" | "::1";
  /** Links to other places, such as the code host, shown at the top of the page. */
  links?: readonly PageLink[];
  /** The page that shows every message. It is served at `/messages` and linked at the top. */
  gallery?: string;
  /** Requests that a newcomer can try. @default nothing is explained to newcomers */
  examples?: readonly Example[];
  /**
   * The delays before an event that the app didn't take is sent again. @default as Slack: 1 s, 1
   * min, 5 min
   */
  eventRetryDelaysMs?: readonly number[];
  logger?: PageLogger;
};

/** A running server of the workspace page. */
export interface WorkspacePage extends AsyncDisposable {
  /** The address to open in a browser. It ends in a slash. */
  readonly url: string;
  /**
   * Tells open pages to load the state again after a change outside the workspace, such as the
   * weather.
   */
  changed(): void;
  /** Stops the server and ends the stream of every open page. */
  close(): Promise<void>;
}

/** Serves the page on which a person uses the workspace. Rejects if the port is taken. */
export async function createWorkspacePage(options: WorkspacePageOptions): Promise<WorkspacePage> {
  const { slack, weather, links = [], host = "127.0.0.1" } = options;
  const changes = new Changes();
  const retries = new EventRetries(slack, () => changes.bump(), options.eventRetryDelaysMs);
  const token = randomBytes(24).toString("hex");
  let hosts: string[] = [];
  const app = createPageApp({
    slack,
    weather,
    links: options.gallery === undefined ? links : [...links, { label: "All messages", url: "/messages" }],
    gallery: options.gallery,
    examples: options.examples ?? null,
    changes,
    retries,
    token,
    surface: readAppSurface(),
    marks: new ReadMarks(),
    changed: () => changes.bump(),
    assets: readAssets(token),
    epoch: randomBytes(8).toString("hex"),
    hosts: () => hosts,
    logger: options.logger,
  });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void listener(request, response));
  const port = await listenOnLoopback(server, options.port ?? 0, host);
  const name = host === "::1" ? "[::1]" : host;
  hosts = [`${name}:${port}`, `localhost:${port}`];
  const stop = slack.workspace.onChange(() => changes.bump());

  async function close(): Promise<void> {
    if (!server.listening) return;
    stop();
    retries[Symbol.dispose]();
    changes.close();
    await closeNow(server);
  }

  return {
    url: `http://${name}:${port}/`,
    changed: () => changes.bump(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
