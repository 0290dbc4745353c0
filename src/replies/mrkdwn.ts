import { utcTimeOfDay } from "../core/text/text.ts";

/**
 * Makes text inert inside mrkdwn: `&` first, then `<` and `>`, as Slack's formatting guide asks.
 * Nothing in it can then be a mention, a link or a broadcast.
 */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * The way back: the three entities that Slack encodes in text it sends, decoded once, `&amp;` last.
 */
export function decodeEntities(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/**
 * Escapes like {@link escapeMrkdwn} and cuts: at most `max` UTF-16 units after escaping, and no
 * entity or pair is cut.
 */
export function cutEscaped(text: string, max: number): string {
  const whole = escapeMrkdwn(text).toWellFormed();
  if (whole.length <= max) return whole;
  if (max < 1) return "";
  let kept = "";
  for (const character of text) {
    const escaped = escapeMrkdwn(character);
    if (kept.length + escaped.length > max - 1) break;
    kept += escaped;
  }
  return `${kept}…`.toWellFormed();
}

/**
 * A moment as a time of day where the reader is (docs.slack.dev/messaging/formatting-message-text,
 * "Date formatting").
 */
export function timeOfDay(epochMs: number): string {
  return `<!date^${Math.floor(epochMs / 1000)}^{time}|${utcTimeOfDay(epochMs)}>`;
}

/** A moment as a day and a time of day where the reader is. */
export function dateAndTime(epochMs: number): string {
  const day = new Date(epochMs).toISOString().slice(0, "2026-01-05".length);
  return (
    `<!date^${Math.floor(epochMs / 1000)}^{date_short_pretty} at {time}|${day}, ` +
    `${utcTimeOfDay(epochMs)}>`
  );
}
