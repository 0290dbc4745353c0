import { type endingOf, OutcomeKind } from "../turn/outcome.ts";

type Ending = ReturnType<typeof endingOf>;

/** Every way in which a turn ends. */
export const ENDINGS = [
  ...OutcomeKind.options,
  "branch",
  "canceled",
  "withdrawn",
  "unwatched",
  "passed",
] as const satisfies readonly Ending[];

/** What happened, for whoever counts it. It has no secret in it, and no text that people wrote. */
export type Measured =
  /** `id` names the watch. A decision may run again, and then says the same of it again. */
  | { kind: "turn-ended"; id: string; ending: Ending }
  /** A turn's status message was posted so long after the request. */
  | { kind: "status-posted"; afterMs: number }
  /** An outcome was posted so long after the app knew it. */
  | { kind: "outcome-posted"; afterMs: number }
  /** A call of Slack's Web API failed. `error` is Slack's code, or what went wrong on the way. */
  | { kind: "slack-refused"; method: string; error: string; retryAfterMs: number };

/** Takes note of what happened, in memory. It never throws. */
export type Measure = (what: Measured) => void;

/** For an app whose metrics nobody reads. */
export function measureNothing(): void {}
