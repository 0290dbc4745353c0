import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { Octokit } from "@octokit/rest";
import { Hono } from "hono";
import { html } from "hono/html";
import { z } from "zod";
import { codeOf, StartError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { listenWith } from "../../shared/machine/listen.ts";
import { createRedact } from "../base/redaction.ts";
import { operatorText, RunError } from "../base/run-error.ts";
import { answered, octokitOptions } from "../pulls/code-host/github-api.ts";
import { type AppSettings, askAsApp, PERMISSIONS } from "../pulls/code-host/github-app.ts";
import { pagesOf } from "../config/repository.ts";
import { lineText } from "../commands/show.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";

export type NewAppOptions = {
  /** The organization that will own the App. If undefined, whoever opens the page will. */
  org?: string | undefined;
  name: string;
  /** Where to write its private key. */
  keyFile: string;
  apiUrl: string;
  /** Where the code host sends webhooks. If undefined, it sends none. */
  webhookUrl?: string | undefined;
  timeLimitMs: number;
  clock: Clock;
  write: (text: string) => void;
};

/** The webhook events that an App with {@link PERMISSIONS} can get. */
const EVENTS = ["pull_request", "pull_request_review", "check_suite", "status", "push"];
const LOOK_EVERY_MS = 3_000;
const Made = z.object({
  id: z.int().positive(),
  name: z.string(),
  html_url: z.url({ protocol: /^https?$/ }),
  pem: z.string().min(1),
  webhook_secret: z.string().nullish(),
});
const Installations = z.array(z.object({ id: z.int().positive() }));

/** An App that was created. `installationId` is null if nobody installed it in time. */
export type NewApp = { id: number; keyFile: string; installationId: number | null };

/**
 * Creates an App at the code host with a form that a person submits in their browser, writes its
 * key to a file, and says what to do next. Rejects with a `StartError` that says what is wrong.
 */
export async function createGitHubApp(options: NewAppOptions): Promise<NewApp> {
  const { keyFile, apiUrl, clock, write, timeLimitMs } = options;
  const secretFile = `${keyFile.replace(/\.pem$/, "")}.webhook-secret`;
  // Checked before the App exists, because its key is shown only once.
  for (const file of [keyFile, secretFile]) {
    if (existsSync(file)) throw new StartError(`${file} is there already. Move it, or set --key-file.`);
  }
  const signal = AbortSignal.timeout(timeLimitMs);
  const code = await codeFrom(options, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new StartError("Nobody created the App in time. Run the command again.");
  });
  const octokit = new Octokit(octokitOptions(apiUrl));
  const words = {
    clock,
    redact: createRedact([code]),
    refusalOf: ({ status }: { status: number }): [string, string] => [
      `GitHub answered ${status} for the new App.`,
      "Run the command again.",
    ],
  };
  const asked = { doing: "Asking for the App's key", signal, schema: Made };
  const { data: made } = await answered(asked, words, (request) =>
    octokit.request("POST /app-manifests/{code}/conversions", { code, request }),
  ).catch((error: unknown) => {
    throw error instanceof RunError ? new StartError(operatorText(error)) : error;
  });
  const name = lineText(made.name);
  await keep(keyFile, made.pem, made.html_url);
  write(`Created the App ${name}. Its key is in ${keyFile}.\n`);
  if (options.webhookUrl !== undefined && made.webhook_secret) {
    await keep(secretFile, made.webhook_secret, made.html_url);
    write(`The secret of its webhook is in ${secretFile}: set the variable of webhookSecretEnv to it.\n`);
  }
  write(`\nInstall it, on the docs repository only: ${made.html_url}/installations/new\n`);
  const installationId = await installationOf({ id: made.id, keyFile, apiUrl, clock }, signal);
  const unknown = "installationId is the number at the end of the installation's address.\n";
  write(
    "\nPut this into the settings, under codeHost, instead of tokenEnv:\n\n" +
      `  app: { id: ${made.id}, keyFile: ${JSON.stringify(keyFile)}, ` +
      `installationId: ${installationId ?? `…`} }\n\n${installationId === null ? unknown : ""}` +
      `Then run: ${commandOf("service", "config check")}\n`,
  );
  return { id: made.id, keyFile, installationId };
}

/** Never overwrites a file. Only this user can read it. */
async function keep(file: string, text: string, appUrl: string): Promise<void> {
  await writeFile(file, `${text.trim()}\n`, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    throw new StartError(
      `The App was created, but ${file} can't be written (${codeOf(error)}). Generate another key, or ` +
        `another webhook secret, in the App's settings: ${appUrl}`,
    );
  });
}

/** Waits for the first installation. Resolves to null if there is none in time. */
async function installationOf(app: AppSettings, signal: AbortSignal): Promise<number | null> {
  const asked = { doing: "Looking for the App's installation", signal, schema: Installations };
  while (!signal.aborted) {
    const found = await askAsApp(app, asked, "GET /app/installations").catch(() => []);
    if (found[0] !== undefined) return found[0].id;
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return null;
}

/** Serves the form on this machine until the code host sends the code back. */
async function codeFrom(options: NewAppOptions, signal: AbortSignal): Promise<string> {
  const { write, timeLimitMs } = options;
  const state = randomBytes(24).toString("base64url");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  const app = new Hono();
  app.use(async (context, next) => {
    context.header("connection", "close");
    context.header("referrer-policy", "no-referrer");
    context.header("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    // Another web page whose host name points to this machine must not be able to read the state.
    const isHere = `http://${context.req.header("host")}` === listening.url;
    return isHere ? next() : context.text("Open the address as it was printed.", 403);
  });
  app.get("/", (context) => context.html(formPage(options, { state, origin: listening.url })));
  app.get("/created", (context) => {
    const { code = "", state: told } = context.req.query();
    if (told !== state || !/^[\w-]{1,200}$/.test(code)) {
      return context.text("This isn't an answer to the form. Open it again.", 400);
    }
    resolve(code);
    return context.text("The App is created. Go back to where you began.");
  });
  // Closing the server waits for this answer.
  const answer = getRequestListener((request) => app.fetch(request));
  await using listening = await listenWith(
    () => createServer((request, response) => void answer(request, response)),
    { host: "127.0.0.1", port: 0, remedy: "Run the command again.", graceMs: 5000 },
  );
  const { port } = new URL(listening.url);
  write(
    `Open ${listening.url}/ in a browser on this machine, within ${Math.round(timeLimitMs / 60_000)} ` +
      `minutes. From another one, first: ssh -L ${port}:127.0.0.1:${port} <this machine>\n`,
  );
  return await promise;
}

function formPage(
  { org, name, apiUrl, webhookUrl }: NewAppOptions,
  { state, origin }: { state: string; origin: string },
) {
  const webUrl = pagesOf(apiUrl);
  const owner = org === undefined ? "" : `/organizations/${encodeURIComponent(org)}`;
  const manifest = JSON.stringify({
    name,
    url: webUrl,
    redirect_url: `${origin}/created`,
    hook_attributes: { url: webhookUrl ?? webUrl, active: webhookUrl !== undefined },
    public: false,
    default_permissions: PERMISSIONS,
    default_events: webhookUrl === undefined ? [] : EVENTS,
  });
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>Docs Agent</title>
      <main>
        <h1>Create the GitHub App</h1>
        <form method="post" action="${webUrl}${owner}/settings/apps/new?state=${state}">
          <p>Docs Agent opens pull requests as a GitHub App of yours, and reads their checks.</p>
          <input type="hidden" name="manifest" value="${manifest}" />
          <p><button>Create it at GitHub</button></p>
        </form>
      </main>
    </html>`;
}
