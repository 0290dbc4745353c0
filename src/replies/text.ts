/**
 * Makes text inert inside mrkdwn: `&` first, then `<` and `>`, as Slack's formatting guide asks. Nothing in it can then be a
 * mention, a link or a broadcast.
 */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Cuts text to at most `max` UTF-16 units, the ellipsis included, never through a surrogate pair. Half a pair that was in the
 * text becomes U+FFFD: strict JSON parsers refuse a whole message for it.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  if (max < 1) return "";
  const end = isHighSurrogate(text.charCodeAt(max - 2)) ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`.toWellFormed();
}

/** Escapes like {@link escapeMrkdwn} and cuts like {@link cut}: at most `max` units after escaping, and no entity is cut. */
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

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
