const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration as people say it, in its two largest units: `45 s`, `3 min 20 s`, `2 h 5 min`, `1 day 4 h`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs / SECOND) * SECOND);
  if (ms < MINUTE) return `${ms / SECOND} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, ms < 2 * DAY ? "day" : "days", HOUR, "h");
}

/** A duration as {@link formatDuration} says it, without seconds that nobody needs: `45 s`, `3 min`, `2 h 5 min`. */
export function roughDuration(durationMs: number): string {
  return formatDuration(durationMs < MINUTE ? durationMs : Math.round(durationMs / MINUTE) * MINUTE);
}

/** How long ago something was, in its largest unit: `3 minutes ago`. */
export function formatAgo(agoMs: number): string {
  if (agoMs < MINUTE) return "just now";
  const [unit, name]: [number, string] =
    agoMs < HOUR ? [MINUTE, "minute"] : agoMs < DAY ? [HOUR, "hour"] : [DAY, "day"];
  const count = Math.floor(agoMs / unit);
  return `${count} ${name}${count === 1 ? "" : "s"} ago`;
}

/** A moment as a time of day: `14:05 UTC`. */
export function utcTimeOfDay(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice("2026-01-05T".length, "2026-01-05T14:05".length)} UTC`;
}

/** The next whole minute. Times are shown to the minute, and the one after which something begins must not be too early. */
export function upToMinute(epochMs: number): number {
  return Math.ceil(epochMs / MINUTE) * MINUTE;
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms - whole * large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}
