import { utcTime } from "../../shared/text/text.ts";
import type { ExplainedTurn } from "./explain.ts";

const NOW = "now".padEnd("2026-01-05 14:05:00 UTC".length);

/** Explained turns as text for a terminal: a heading for each, and a line for each event. */
export function explainedText(turns: readonly ExplainedTurn[]): string {
  return turns
    .map(({ id, project, job, events }) => {
      const heading = `turn ${id}, project ${project}, ${job === null ? "no job yet" : `job ${job}`}`;
      const lines = events.map(({ at, of, what }) => `  ${timeOf(at)}  ${of.padEnd(12)}  ${what}`);
      return `${[heading, ...lines].join("\n")}\n`;
    })
    .join("\n");
}

/** With seconds, because much happens in the same minute. */
function timeOf(at: number | null): string {
  if (at === null) return NOW;
  const time = utcTime(at);
  if (!time.endsWith(" UTC")) return time;
  return `${time.slice(0, -4)}:${String(Math.floor(at / 1000) % 60).padStart(2, "0")} UTC`;
}
