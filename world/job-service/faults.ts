import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { type JobServiceOp, send, sendText, type SideReply } from "./wire.ts";

/**
 * A fault on demand. After a kind with "before", the call has no effect. With "after", it has its
 * effect, but the caller isn't told.
 *
 * - `status`: the service itself refuses, with the contract's `{"error": string}`. `body` adds
 *   fields to it or replaces its `error`.
 * - `gateway`: something in front of the service answers with its own page. If `isReached` is set,
 *   the call had its effect.
 * - `body`: any answer
 * - `encoded`: everything succeeds, and the answer is compressed
 * - `other-job`: everything succeeds, and the answer is about a job with this id
 */
export type SideFault =
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: Record<string, unknown> }
  | { kind: "gateway"; status: number; headers?: Record<string, string>; isReached?: boolean }
  | { kind: "drop-before" }
  | { kind: "drop-after" }
  | { kind: "hang-before" }
  | { kind: "hang-after" }
  | { kind: "body"; status: number; body: string; contentType?: string }
  | { kind: "body-after"; status: number; body: string; contentType?: string }
  | { kind: "encoded"; encoding: keyof typeof COMPRESS }
  | { kind: "other-job"; id: string }
  | { kind: "slow"; ms: number };

const COMPRESS = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};

export type SideFaultRule = {
  op: JobServiceOp | "*";
  /** The number of calls that meet it. Without it, all until it is cleared. */
  times?: number;
  fault: SideFault;
};

/**
 * Faults on demand. The rule that was added first applies first. A rule that is used up is removed.
 */
export class FaultPlan {
  #rules: { op: JobServiceOp | "*"; left: number; fault: SideFault }[] = [];

  add({ op, times = Number.POSITIVE_INFINITY, fault }: SideFaultRule): void {
    this.#rules.push({ op, left: times, fault });
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns the fault that this call meets and uses it up once. Null if there is none. */
  take(op: JobServiceOp): SideFault | null {
    const rule = this.#rules.find((candidate) => candidate.op === "*" || candidate.op === op);
    if (rule === undefined) return null;
    rule.left -= 1;
    this.#rules = this.#rules.filter((candidate) => candidate.left > 0);
    return rule.fault;
  }
}

/**
 * Applies a fault before a call's effect. Resolves to true if the call is settled, so that it must
 * have no effect. `headers` are those of every answer of the service.
 */
export async function faultBefore(
  fault: SideFault,
  response: ServerResponse,
  headers: Record<string, string>,
): Promise<boolean> {
  switch (fault.kind) {
    case "status": {
      const json = { error: `Fault on demand: ${fault.status}`, ...fault.body };
      send(response, { status: fault.status, json }, { ...headers, ...fault.headers });
      return true;
    }
    case "gateway":
      if (fault.isReached === true) return false;
      sendPage(response, fault);
      return true;
    case "drop-before":
      response.destroy();
      return true;
    case "hang-before":
      return true;
    case "body":
      sendText(response, fault.status, fault.body, { "content-type": fault.contentType ?? "text/html" });
      return true;
    case "slow":
      await sleep(fault.ms);
      return false;
    case "drop-after":
    case "hang-after":
    case "body-after":
    case "encoded":
    case "other-job":
      return false;
    default:
      return fault satisfies never;
  }
}

/**
 * Answers a call that has already had its effect as the fault says. Returns false if the fault
 * doesn't change the answer.
 */
export function faultAfter(
  fault: SideFault,
  response: ServerResponse,
  reply: SideReply,
  headers: Record<string, string>,
): boolean {
  switch (fault.kind) {
    case "drop-after":
      response.destroy();
      return true;
    case "gateway":
      sendPage(response, fault);
      return true;
    case "body-after":
      sendText(response, fault.status, fault.body, { "content-type": fault.contentType ?? "text/html" });
      return true;
    case "encoded": {
      const { encoding } = fault;
      const json = { ...headers, "content-type": "application/json", "content-encoding": encoding };
      sendText(response, reply.status, COMPRESS[encoding](JSON.stringify(reply.json)), json);
      return true;
    }
    case "other-job":
      send(response, { ...reply, json: { ...(reply.json as object), id: fault.id } }, headers);
      return true;
    case "slow":
      return false;
    default:
      return true;
  }
}

function sendPage(
  response: ServerResponse,
  { status, headers }: { status: number; headers?: Record<string, string> },
): void {
  const page = `<html><head><title>${status}</title></head><body><center>gateway</center></body></html>`;
  sendText(response, status, page, { "content-type": "text/html", server: "gateway", ...headers });
}
