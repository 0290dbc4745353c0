import type { ProjectCheck } from "../../shared/contract/checks.ts";
import type { TurnOutcome, Usage } from "../../shared/contract/turn.ts";

/**
 * What happened in the service, for whoever counts it. It has no secret in it, and no text of
 * people, agents or code hosts. Durations are in milliseconds.
 */
export type ServiceMeasured = { project: string } & (
  | { kind: "turn-starts"; waitedMs: number }
  | { kind: "agent-starts" }
  /** A run of a turn is over, which used this. */
  | { kind: "used"; usage: Usage }
  /** `tookMs` is null if it never started. */
  | { kind: "turn-ended"; outcome: TurnOutcome; tookMs: number | null; checks: readonly ProjectCheck[] }
  | { kind: "pull-request-ended"; state: "merged" | "closed" }
);

/** Takes note of what happened, in memory. It never throws. */
export type ServiceMeasure = (what: ServiceMeasured) => void;
