import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type Listening, listenWith } from "../../shared/machine/listen.ts";
import type { SetupRun } from "../setup-run.ts";
import { setupPage, versionOf } from "./page.ts";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
const MAX_BODY_BYTES = 64 * 1024;
const GRACE_MS = 1000;
const ASSETS: Readonly<Record<string, string>> = {
  "setup.css": "text/css; charset=utf-8",
  "setup.js": "text/javascript; charset=utf-8",
};

/** The setup's page while it is served. */
export type ServedSetup = AsyncDisposable & {
  /** Where it is. Whoever knows the address can use it. */
  url: string;
};

/** Serves the setup on this machine alone, at an address that nobody can guess. */
export async function serveSetup(run: SetupRun, port: number): Promise<ServedSetup> {
  const token = randomBytes(24).toString("base64url");
  const answer = getRequestListener((request) => app.fetch(request));
  const listening: Listening = await listenWith(
    () => createServer((request, response) => void answer(request, response)),
    { host: "127.0.0.1", port, remedy: "Choose another with --port.", graceMs: GRACE_MS },
  );
  const app = createSetupApp(run, { token, origin: listening.url });
  return {
    url: `${listening.url}/${token}/`,
    [Symbol.asyncDispose]: () => listening.close(),
  };
}

/** The page's application. Doesn't listen. */
function createSetupApp(run: SetupRun, { token, origin }: { token: string; origin: string }): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    context.header("content-security-policy", POLICY);
    // Slack and GitHub don't learn the address, and our own forms say where they come from.
    context.header("referrer-policy", "same-origin");
    context.header("x-content-type-options", "nosniff");
    context.header("cache-control", "no-store");
    context.header("cross-origin-opener-policy", "same-origin");
  });
  app.use("/:token/*", async (context, next) => {
    const { req } = context;
    // Another page whose host name points to this machine must not be able to read this one.
    if (`http://${req.header("host")}` !== origin || !isSame(req.param("token"), token)) {
      return context.text("Open the address as it was printed.", 403);
    }
    if (req.method === "POST" && req.header("origin") !== origin) {
      return context.text("Only the page itself may do this.", 403);
    }
    return next();
  });
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES }));

  app.get("/:token/", async (context) => context.html(await setupPage(run, context.req.query())));
  app.get("/:token/changes", async (context) => context.text(await versionOf(run)));
  app.get("/:token/:asset{setup\\.(?:css|js)}", async (context) => {
    const name = context.req.param("asset");
    const text = await readFile(new URL(name, import.meta.url), "utf8");
    return context.body(text, 200, { "content-type": ASSETS[name] ?? "text/plain" });
  });
  app.post("/:token/step/:id", async (context) => {
    const step = run.steps.find(({ id }) => id === context.req.param("id"));
    if (step === undefined) return context.text("There is no such step.", 404);
    const entered = Object.entries(await context.req.parseBody());
    const values = Object.fromEntries(
      entered.map(([name, value]) => [name, typeof value === "string" ? value.trim() : ""]),
    );
    // The page shows how it goes.
    void run.take(step, values);
    return context.redirect(`../?tried=${step.id}`, 303);
  });
  app.post("/:token/app", async (context) => {
    const { org } = await context.req.parseBody();
    void run.makeApp(typeof org === "string" ? org.trim() : "");
    return context.redirect("./?step=repository", 303);
  });
  return app;
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
