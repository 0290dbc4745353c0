const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", month: "long", day: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const exact = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Milliseconds since 1970 as the time of the day, to the second. */
export function exactTime(ms: number): string {
  return exact.format(ms);
}

/** A Slack timestamp as a date. */
export function dateOf(ts: string): Date {
  return new Date(Number(ts) * 1000);
}

export function clockTime(ts: string): string {
  return clock.format(dateOf(ts));
}

export function fullTime(ts: string): string {
  return full.format(dateOf(ts));
}

export function isSameDay(one: string, other: string): boolean {
  return dateOf(one).toDateString() === dateOf(other).toDateString();
}

export function dayName(ts: string): string {
  const now = new Date();
  if (dateOf(ts).toDateString() === now.toDateString()) return "Today";
  const before = new Date(now);
  before.setDate(now.getDate() - 1);
  return dateOf(ts).toDateString() === before.toDateString() ? "Yesterday" : day.format(dateOf(ts));
}
