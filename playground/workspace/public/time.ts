const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", month: "long", day: "numeric" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const EXACT = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Formats epoch milliseconds as the time of day, to the second. */
export function exactTime(ms: number): string {
  return EXACT.format(ms);
}

/** Converts a Slack timestamp to a date. */
function dateOf(ts: string): Date {
  return new Date(Number(ts) * 1000);
}

/** Formats a Slack timestamp as the time of day. */
export function clockTime(ts: string): string {
  return CLOCK.format(dateOf(ts));
}

/** Formats a Slack timestamp as the date and the time. */
export function fullTime(ts: string): string {
  return FULL.format(dateOf(ts));
}

/** True if both Slack timestamps are of the same day. */
export function isSameDay(one: string, other: string): boolean {
  return dateOf(one).toDateString() === dateOf(other).toDateString();
}

/** Formats the day of a Slack timestamp. */
export function dayName(ts: string): string {
  const now = new Date();
  if (dateOf(ts).toDateString() === now.toDateString()) return "Today";
  const before = new Date(now);
  before.setDate(now.getDate() - 1);
  return dateOf(ts).toDateString() === before.toDateString() ? "Yesterday" : DAY.format(dateOf(ts));
}

/**
 * Formats a date in one of Slack's formats, in the reader's own time zone. Returns null for a
 * format that the app's messages don't use. See
 * https://docs.slack.dev/messaging/formatting-message-text#date-formatting
 */
export function readableDate(seconds: string, format: string): string | null {
  const parts: Record<string, string> = {
    "{date_short}": SHORT.format(dateOf(seconds)),
    "{date_short_pretty}": prettyDay(seconds),
    "{time}": clockTime(seconds),
  };
  const tokens = format.match(/\{\w+\}/g) ?? [];
  if (tokens.length === 0 || tokens.some((token) => parts[token] === undefined)) return null;
  return format.replaceAll(/\{\w+\}/g, (token) => parts[token] ?? token);
}

function prettyDay(ts: string): string {
  const name = dayName(ts);
  return name === "Today" || name === "Yesterday" ? name.toLowerCase() : SHORT.format(dateOf(ts));
}
