import { outcomeText } from "./outcome-text.ts";
import type { Turn } from "./turn.ts";

/** Names the state a status message shows: as long as it stays the same, the message is not touched. */
export function statusKey(turn: Turn): string {
  switch (turn.stage.name) {
    case "accepted":
      return turn.stage.waitingSince === null ? "accepted" : "waiting";
    case "submitting":
      return turn.stage.waitingSince === null ? "accepted" : "waiting";
    case "watching":
      return `watching-${turn.watch}${turn.stage.troubleSince === null ? "" : "-trouble"}`;
    case "ended":
      return `ended-${turn.watch}`;
  }
}

const STARTING = { symbol: "⏳", text: "Starting a job…" };

/** What the status message says of a turn: plain text. `watchedFor`: as in {@link outcomeText}. */
export function statusText(turn: Turn, watchedFor: string): { symbol: string; text: string } {
  switch (turn.stage.name) {
    case "accepted":
    case "submitting":
      return turn.stage.waitingSince === null
        ? STARTING
        : {
            symbol: "⏳",
            text: "The job service is not taking requests right now. Your request is kept and goes out as soon as it does.",
          };
    case "watching":
      return turn.stage.troubleSince === null
        ? { symbol: "🔧", text: "The agent is working on it. The result arrives in this thread." }
        : {
            symbol: "⚠️",
            text: "The job service does not answer right now. I keep watching; the result arrives in this thread.",
          };
    case "ended": {
      const { symbol, headline } = outcomeText(turn.stage.outcome, watchedFor);
      return { symbol, text: headline };
    }
  }
}
