import { utcTimeOfDay } from "../../shared/text/text.ts";

/**
 * Makes text inert inside mrkdwn, so that nothing in it can be a mention, a link or a broadcast. As
 * Slack's formatting guide asks, `&` is escaped first, then `<` and `>`.
 */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Decodes, once, the three entities that Slack encodes in the text it sends. `&amp;` comes last.
 */
export function decodeEntities(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/**
 * Escapes like {@link escapeMrkdwn} and cuts to at most `max` UTF-16 units after escaping, without
 * splitting an entity or a surrogate pair.
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
 * A time of day in the reader's time zone (docs.slack.dev/messaging/formatting-message-text, "Date
 * formatting").
 */
export function timeOfDay(epochMs: number): string {
  return `<!date^${Math.floor(epochMs / 1000)}^{time}|${utcTimeOfDay(epochMs)}>`;
}

/** A day and time in the reader's time zone. */
export function dateAndTime(epochMs: number): string {
  const day = new Date(epochMs).toISOString().slice(0, "2026-01-05".length);
  return (
    `<!date^${Math.floor(epochMs / 1000)}^{date_short_pretty} at {time}|${day}, ` +
    `${utcTimeOfDay(epochMs)}>`
  );
}
