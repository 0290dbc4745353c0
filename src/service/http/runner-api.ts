import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type Context, Hono } from "hono";
import { z } from "zod";
import type { Logger } from "../../shared/machine/ports.ts";
import { RunError, TransientRunError, TurnFailedError } from "../base/run-error.ts";
import {
  ClaimRequest,
  KEYS_BETWEEN,
  LEASE_HEADER,
  misfit,
  PROTOCOL,
  ReportRequest,
  WorkResult,
} from "../runner/protocol.ts";
import { NoteKind } from "../runner/runner.ts";
import type { RunnerCaller, Lend } from "../runners/caller.ts";
import type { Lost, RunnerDesk } from "../runners/desk.ts";
import { RunnerConflictError } from "../runners/elsewhere.ts";
import { keySent } from "../runners/models/pass-call.ts";
import { readAtMost } from "./bounded-body.ts";
import { HttpFault } from "./http-fault.ts";

export type RunnerApiDeps = {
  /** Null if nobody has this token. */
  callerOf: (token: string) => RunnerCaller | null;
  logger: Logger;
};

/** More than all that a runner reports: texts are cut, and a diff is the longest of them. */
const MAX_BODY_BYTES = 8 * 1024 ** 2;
/** The names of a thousand projects are the longest part of a claim. */
const MAX_CLAIM_BYTES = 256 * 1024;
/** The brief is the longest part of a report. */
const MAX_REPORT_BYTES = 1024 ** 2;
const AGAIN_S = "1";
const UNKNOWN = "The runner's token isn't known, or was revoked.";
const LOST = "This work was given to somebody else, or has ended. Stop it.";
const Refused = z.object({ refused: z.string().nullable().default(null) });

/**
 * The addresses that runners call, below `/runner`. Everything goes out from the runner, so it
 * needs no open port. Each call carries the runner's own token, and each one about a piece of work
 * also the token of its lease.
 */
export function createRunnerApi({
  callerOf,
  logger,
}: RunnerApiDeps): Hono<{ Variables: { caller: RunnerCaller } }> {
  const app = new Hono<{ Variables: { caller: RunnerCaller } }>().basePath("/runner");
  app.onError((thrown, context) => {
    const fault = thrown instanceof HttpFault ? thrown : null;
    if (fault === null) logger.error({ err: thrown }, "a runner's call failed");
    const { status, message, headers } = fault ?? new HttpFault(500, "The service failed. Try again.");
    return context.json({ error: message }, status, { ...headers });
  });
  // The runner's gateway has one key for all: that of the runner and that of the lease.
  app.all("/work/:id/models/*", async (context) => {
    const key = keySent(context.req.raw.headers) ?? "";
    const at = key.lastIndexOf(KEYS_BETWEEN);
    const caller = callerOf(key.slice(0, Math.max(0, at)));
    if (caller === null) throw new HttpFault(401, UNKNOWN);
    context.set("caller", caller);
    const id = assertHeld(context, key.slice(at + 1));
    return await lendOf(context).callModel(id, context.req.raw);
  });
  app.use(async (context, next) => {
    const token = /^Bearer +(\S{1,500}) *$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const caller = token === undefined ? null : callerOf(token);
    if (caller === null) throw new HttpFault(401, UNKNOWN);
    context.set("caller", caller);
    context.header("cache-control", "no-store");
    await next();
  });

  app.get("/about", (context) => context.json(lendOf(context).about()));
  app.post("/claims", async (context) => {
    const asked = await jsonOf(context, z.looseObject({ protocol: z.int() }), MAX_CLAIM_BYTES);
    if (asked.protocol !== PROTOCOL)
      throw new HttpFault(426, misfit({ runner: asked.protocol, service: PROTOCOL }));
    const claim = parsed(ClaimRequest, asked);
    const { desk, onPlaces } = deskFor(context.var.caller, claim);
    const { signal } = context.req.raw;
    const work = await desk.claim(claim, signal, onPlaces);
    if (work !== null && signal.aborted) desk.putBack(work);
    return context.json({ work });
  });
  app.put("/work/:id/report", async (context) => {
    assertHeld(context);
    const request = await jsonOf(context, ReportRequest, MAX_REPORT_BYTES);
    return context.json(held(await leased(context, (desk, id, token) => desk.report(id, token, request))));
  });
  app.put("/work/:id/result", async (context) => {
    leased(context, () => null);
    const result = await jsonOf(context, WorkResult);
    const isWritten = held(await leased(context, (desk, id, token) => desk.result(id, token, result)));
    if (!isWritten) throw new HttpFault(503, "It can't be written down now. Send it again.", LATER);
    return context.json({});
  });
  app.get("/work/:id/notes/:kind", async (context) => {
    const kind = parsed(NoteKind, context.req.param("kind"));
    return context.json({ text: (await notesOf(context)?.read(kind)) ?? null });
  });
  app.put("/work/:id/notes/:kind", async (context) => {
    const kind = parsed(NoteKind, context.req.param("kind"));
    assertHeld(context);
    const { text } = await jsonOf(context, z.strictObject({ text: z.string() }));
    const notes = notesOf(context);
    if (notes === null) throw new HttpFault(404, "There are no notes about this.");
    await notes.write(kind, text);
    return context.json({});
  });
  app.get("/work/:id/attachments/:place", async (context) => {
    const place = Number(context.req.param("place"));
    const found = held(leased(context, (desk, id, token) => desk.attachmentOf(id, token, place)));
    if (found === null) throw new HttpFault(404, "There is no such attachment.");
    const file = createReadStream(found.path);
    const body = Readable.toWeb(file);
    return new Response(body, { headers: { "content-type": "application/octet-stream" } });
  });
  app.post("/work/:id/token", async (context) => {
    const id = assertHeld(context);
    const { refused } = await jsonOf(context, Refused, MAX_CLAIM_BYTES);
    const { signal } = context.req.raw;
    return await lent(context, async () => ({
      token: await lendOf(context).repositoryToken(id, refused, signal),
    }));
  });
  app.get("/work/:id/identity", async (context) => {
    const id = assertHeld(context);
    return await lent(context, () => lendOf(context).identity(id, context.req.raw.signal));
  });
  return app;
}

type RunnerContext = Context<{ Variables: { caller: RunnerCaller } }>;

/** Answers what is lent, or why it can't be, in the words that a turn of the service's own has. */
async function lent(context: RunnerContext, find: () => Promise<object>): Promise<Response> {
  try {
    return context.json(await find());
  } catch (thrown) {
    if (!(thrown instanceof RunError)) throw thrown;
    const retryAfterMs = thrown instanceof TransientRunError ? thrown.retryAfterMs : null;
    const isFinal = thrown instanceof TurnFailedError;
    return context.json({ error: thrown.message, isFinal, details: [...thrown.details], retryAfterMs }, 422);
  }
}

function deskFor(caller: RunnerCaller, claim: ClaimRequest) {
  try {
    return caller.deskFor(claim);
  } catch (thrown) {
    if (thrown instanceof RunnerConflictError) throw new HttpFault(429, thrown.message);
    throw thrown;
  }
}

const LATER = { "retry-after": AGAIN_S };

/**
 * Does something at the desk that has the work. Throws an {@link HttpFault} if none has: 503 while
 * the service has only just started.
 */
function leased<T>(
  context: RunnerContext,
  act: (desk: RunnerDesk, id: string, token: string) => T,
  token = context.req.header(LEASE_HEADER) ?? "",
): T {
  const id = context.req.param("id") ?? "";
  const { caller } = context.var;
  const desk = caller.deskOf(id);
  if (desk !== null) return act(desk, id, token);
  if (!caller.isExpected(id, token)) throw new HttpFault(409, LOST);
  throw new HttpFault(503, "The service has just started. Send it again.", LATER);
}

function held<T>(found: T | Lost): T {
  if (found === "lost") throw new HttpFault(409, LOST);
  return found;
}

/** The id of the work, which the caller has. */
function assertHeld(context: RunnerContext, leaseToken?: string): string {
  const act = (desk: RunnerDesk, id: string, token: string) => {
    held(desk.notesOf(id, token));
    return id;
  };
  return leased(context, act, leaseToken);
}

function notesOf(context: RunnerContext) {
  return held(leased(context, (desk, id, token) => desk.notesOf(id, token)));
}

function lendOf({ var: { caller } }: RunnerContext): Lend {
  if (caller.lend === null) throw new HttpFault(404, "The service's own runner has this itself.");
  return caller.lend;
}

async function jsonOf<T>(
  { req }: RunnerContext,
  schema: z.ZodType<T>,
  maxBytes = MAX_BODY_BYTES,
): Promise<T> {
  if (req.raw.body === null) throw new HttpFault(400, "Send JSON.");
  const body = await readAtMost(req.raw.body, maxBytes);
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new HttpFault(400, "Send JSON.");
  }
  return parsed(schema, value);
}

function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error !== undefined)
    throw new HttpFault(400, `This isn't understood: ${z.prettifyError(error).slice(0, 500)}`);
  return data as T;
}
