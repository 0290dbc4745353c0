import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { type JobServiceOp, send, sendText, type SideReply } from "./wire.ts";

/**
 * A fault on demand. "before": the call has no effect. "after": it has its effect, but the caller is not told.
 *
 * - `status`: the service itself refuses, with the contract's `{"error": string}`; `body` adds to it or replaces its `error`.
 * - `gateway`: something in front of the service answers with a page of its own, `isReached` or not: the call had its effect.
 * - `body`: any answer.
 * - `encoded`: all goes well, and the answer comes compressed.
 * - `other-job`: all goes well, and the answer is about a job with this id.
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
  /** Without it, until it is cleared. */ times?: number;
  fault: SideFault;
};

/** Faults on demand. The rule added first applies first; a used-up rule is gone. */
export class FaultPlan {
  #rules: { op: JobServiceOp | "*"; left: number; fault: SideFault }[] = [];

  add({ op, times = Number.POSITIVE_INFINITY, fault }: SideFaultRule): void {
    this.#rules.push({ op, left: times, fault });
  }

  clear(): void {
    this.#rules = [];
  }

  /** The fault this call meets, which uses it up once; null for none. */
  take(op: JobServiceOp): SideFault | null {
    const rule = this.#rules.find((candidate) => candidate.op === "*" || candidate.op === op);
    if (rule === undefined) return null;
    rule.left -= 1;
    this.#rules = this.#rules.filter((candidate) => candidate.left > 0);
    return rule.fault;
  }
}

/** Whether the fault settled the call, so that it must have no effect. `headers`: those of every answer of the service. */
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
