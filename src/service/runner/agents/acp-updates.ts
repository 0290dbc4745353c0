import type { PlanEntry, SessionNotification, ToolCall, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { setTimeout as sleep } from "node:timers/promises";
import { cut, startOf } from "../../../shared/text/text.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { MAX_PLAN_STEPS, type PlanStep } from "../../../shared/contract/turn.ts";
import { oneLine, printableText, redactedLine } from "../../base/printable-text.ts";
import { type AgentRun, MAX_SUMMARY_LENGTH, type ProgressLines } from "./agent.ts";
import type { AcpPermissions } from "./acp-permissions.ts";
import type { OpenSession } from "./acp-session.ts";

const MAX_MESSAGE_LENGTH = 64_000;
/** No session costs more. An agent that says so is wrong. */
const MAX_COST_USD = 10_000;
const PLAN_STATUS = {
  pending: "pending",
  in_progress: "in-progress",
  completed: "completed",
} as const satisfies Record<PlanEntry["status"], PlanStep["status"]>;

/** A loaded session reports its history without pauses. */
const QUIET_MS = 200;
const MAX_NOISE_MS = 5000;
/** Agents add up fractions of cents. */
const SMALL_USD = 1e-6;

type Told = Pick<AgentRun, "kept" | "report" | "redact">;

/**
 * Passes on an ACP session's updates: progress lines, step, plan, cost. Keeps the agent's last
 * message.
 */
export class AcpUpdates {
  readonly #progress: ProgressLines;
  readonly #permissions: AcpPermissions;
  readonly #told: Told;
  #message = "";
  #messageId: string | undefined;
  #isOpen = false;
  #sessionId: string | undefined;
  #passedOver = 0;
  /** The session's cost when this turn began, and as last reported. */
  #costBeforeUsd: number | null = null;
  #costUsd: number | null = null;

  constructor(progress: ProgressLines, permissions: AcpPermissions, told: Told) {
    this.#progress = progress;
    this.#permissions = permissions;
    this.#told = told;
  }

  /**
   * Resolves after a moment without updates. A loaded session's history should arrive before the
   * answer, but some agents send it later, and the connection passes on answers sooner than earlier
   * updates.
   */
  async quiet(): Promise<void> {
    const giveUpAt = performance.now() + MAX_NOISE_MS;
    let before: number;
    do {
      before = this.#passedOver;
      await sleep(QUIET_MS);
    } while (this.#passedOver > before && performance.now() < giveUpAt);
  }

  /**
   * Call this before the prompt. Earlier updates, and those of other sessions, don't belong to this
   * turn.
   */
  begin({ id, knownTurns }: OpenSession): void {
    this.#sessionId = id;
    this.#costBeforeUsd = knownTurns > 0 ? (this.#told.kept?.costUsd ?? null) : null;
  }

  take({ sessionId, update }: SessionNotification): void {
    if (sessionId !== this.#sessionId) {
      this.#passedOver += 1;
      return;
    }
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") this.#addText(update.content.text, update.messageId ?? undefined);
        return;
      case "tool_call":
        this.#closeMessage();
        this.#progress.line(update.title);
        this.#step(update);
        return;
      case "tool_call_update":
        this.#closeMessage();
        this.#step(update);
        if (update.status === "failed") this.#progress.line(`failed: ${update.title ?? update.toolCallId}`);
        return;
      case "plan":
        this.#closeMessage();
        for (const { status, content } of update.entries.slice(0, 20)) {
          if (status === "in_progress") this.#progress.line(`plan: ${content}`);
        }
        this.#plan(update.entries);
        return;
      case "usage_update":
        if (update.cost) this.#cost(update.cost);
        return;
      default:
        // Thoughts and modes aren't shown to anyone.
        return;
    }
  }

  /** The agent's last message without secrets, or null if it sent none. */
  summary(): string | null {
    const text = cut(printableText(this.#told.redact(this.#message)).trim(), MAX_SUMMARY_LENGTH);
    return text === "" ? null : text;
  }

  /**
   * The cost that the agent states for the whole session with all its turns. Null if it stated
   * none.
   */
  get sessionCostUsd(): number | null {
    return this.#costUsd ?? this.#costBeforeUsd;
  }

  /** Many agents say only in an update what a call is about, or for which file. */
  #step(update: ToolCall | ToolCallUpdate): void {
    const call = this.#permissions.note(update);
    if (call.title.trim() === "" || update.status === "completed" || update.status === "failed") return;
    this.#told.report({ step: oneLine(this.#permissions.named(call), SHOWN_CHARS.line) });
  }

  #plan(entries: readonly PlanEntry[]): void {
    const steps = entries.slice(0, MAX_PLAN_STEPS).map(({ content, status }) => ({
      text: redactedLine(this.#told.redact, content, SHOWN_CHARS.line),
      status: PLAN_STATUS[status],
    }));
    this.#told.report({ plan: steps.filter(({ text }) => text !== "") });
  }

  /**
   * The turn's cost so far, from what the agent states for its session. How full its context is
   * says nothing about the tokens used.
   */
  #cost({ amount, currency }: { amount: number; currency: string }): void {
    if (currency.toUpperCase() !== "USD" || !(amount >= 0 && amount <= MAX_COST_USD)) return;
    // Some agents start at 0 again in a resumed session.
    if (this.#costUsd === null && amount < (this.#costBeforeUsd ?? 0) - SMALL_USD) this.#costBeforeUsd = null;
    this.#costUsd = amount;
    const uncounted = { inputTokens: null, outputTokens: null, cachedInputTokens: null, calls: null };
    const costUsd = Math.max(0, amount - (this.#costBeforeUsd ?? 0));
    this.#told.report({ usage: { ...uncounted, costUsd } });
  }

  #addText(text: string, messageId: string | undefined): void {
    const isNext = !this.#isOpen || messageId !== this.#messageId;
    if (isNext && text.trim() === "") return;
    if (isNext) {
      this.#progress.flush();
      this.#message = "";
    }
    this.#isOpen = true;
    this.#messageId = messageId;
    if (this.#message.length < MAX_MESSAGE_LENGTH) {
      this.#message = startOf(this.#message + text, MAX_MESSAGE_LENGTH);
    }
    this.#progress.write(text);
  }

  #closeMessage(): void {
    this.#isOpen = false;
    this.#progress.flush();
  }
}
