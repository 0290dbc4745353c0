import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import * as z from "zod";
import { messageOf } from "../../src/shared/errors.ts";
import { ImpossibleForAPerson, NotInWorkspace } from "../../world/slack/index.ts";
import { type ActDeps, perform } from "./acts.ts";
import type { Asset } from "./assets.ts";
import type { Changes } from "./changes.ts";
import { fromThisPageOnly, ownHostOnly, secureHeaders, STANDALONE_POLICY } from "./guard.ts";
import { PageAct, type StateAnswer, WeatherAction, type WeatherState } from "./page-protocol.ts";
import { type PageStateDeps, readPageState } from "./page-state.ts";
import { type WeatherControls, WeatherStuck } from "./weather.ts";

/** Writes structured log lines in the product's format. */
export interface PageLogger {
  error(fields: object, message: string): void;
}

/** The dependencies of {@link createPageApp}. */
export type PageAppDeps = PageStateDeps &
  ActDeps & {
    weather: WeatherControls;
    changes: Changes;
    assets: ReadonlyMap<string, Asset>;
    token: string;
    /**
     * Changes with every start of the page's server, so that an old page knows that it must reload.
     */
    epoch: string;
    /** The values of `Host` that are allowed for this page. */
    hosts: () => readonly string[];
    logger: PageLogger | undefined;
    /** The page that shows every message. */
    gallery: string | undefined;
  };

const id = z.string().min(1).max(255);
const Look = z.object({ as: id.optional(), channel: id.optional(), thread: id.optional() });
const ActRequest = z.strictObject({ as: id, act: PageAct });

/** Short enough that nothing between this server and the page closes the stream as idle. */
const HEARTBEAT_MS = 15_000;

/** Creates the page's HTTP application. Doesn't listen. */
export function createPageApp(deps: PageAppDeps): Hono {
  const { slack, changes, weather, assets, epoch } = deps;
  const app = new Hono();
  app.use(secureHeaders());
  app.use(ownHostOnly(deps.hosts));
  app.use(
    "/api/*",
    bodyLimit({
      maxSize: 256 * 1024,
      onError: (context) => context.json({ error: "This request is too large." }, 413),
    }),
  );
  app.post("/api/*", fromThisPageOnly(deps.token));

  app.get("/", (context) => serve("index.html", context.body, assets));
  app.get("/messages", (context) =>
    deps.gallery === undefined
      ? context.notFound()
      : context.html(deps.gallery, 200, { "content-security-policy": STANDALONE_POLICY }),
  );
  app.get("/assets/:name", (context) => serve(context.req.param("name"), context.body, assets));

  app.get("/api/state", async (context) => {
    const look = Look.parse(context.req.query());
    const as = look.as ?? slack.workspace.users()[0]?.id ?? "";
    const { version } = changes;
    const state = readPageState(deps, { ...look, as }, await weatherNow());
    return context.json({ epoch, version, ...state } satisfies StateAnswer);
  });

  app.get("/api/events", (context) =>
    streamSSE(context, async (stream) => {
      const gone = new AbortController();
      stream.onAbort(() => gone.abort());
      let seen = -1;
      while (!gone.signal.aborted && !changes.isClosed) {
        if (changes.version === seen) await stream.write(": still here\n\n");
        else {
          seen = changes.version;
          await stream.writeSSE({ event: "change", data: JSON.stringify({ epoch, version: seen }) });
        }
        if (changes.version === seen) await changes.next(HEARTBEAT_MS, gone.signal);
      }
    }),
  );

  app.post("/api/act", async (context) => {
    const { as, act } = ActRequest.parse(await context.req.json());
    return context.json(await perform(act, slack.person(as), deps));
  });

  app.post("/api/weather", async (context) => {
    try {
      await weather.act(WeatherAction.parse(await context.req.json()));
    } finally {
      changes.bump();
    }
    return context.json(await weather.state());
  });

  app.notFound((context) => context.json({ error: "There is no such page." }, 404));
  app.onError((thrown, context) => {
    if (thrown instanceof z.ZodError) return context.json({ error: z.prettifyError(thrown) }, 400);
    if (thrown instanceof SyntaxError) return context.json({ error: "The request isn't JSON." }, 400);
    if (thrown instanceof NotInWorkspace) return context.json({ error: thrown.message }, 404);
    if (thrown instanceof ImpossibleForAPerson) return context.json({ error: thrown.message }, 409);
    if (thrown instanceof WeatherStuck) return context.json({ error: thrown.message }, 504);
    deps.logger?.error({ error: messageOf(thrown) }, "the workspace page failed");
    return context.json({ error: "The playground failed. Its log says why." }, 500);
  });

  async function weatherNow(): Promise<WeatherState | null> {
    try {
      return await weather.state();
    } catch (thrown) {
      deps.logger?.error({ error: messageOf(thrown) }, "the weather is unknown");
      return null;
    }
  }
  return app;
}

function serve(
  name: string,
  answer: (body: string, status: 200 | 404, headers: Record<string, string>) => Response,
  assets: ReadonlyMap<string, Asset>,
): Response {
  const asset = assets.get(name);
  if (asset === undefined) return answer("There is no such file.", 404, { "content-type": "text/plain" });
  return answer(asset.body, 200, { "content-type": asset.type });
}
