/**
 * Makes text inert inside mrkdwn: `&` first, then `<` and `>`, as Slack's formatting guide asks. Nothing in it can then be a
 * mention, a link or a broadcast.
 */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Cuts text to at most `max` UTF-16 units, the ellipsis included, never through a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = isHighSurrogate(text.charCodeAt(max - 2)) ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}

/** Cuts text that will be escaped, so that what comes out of {@link escapeMrkdwn} is at most `max` units and no entity is cut. */
export function cutEscaped(text: string, max: number): string {
  let kept = cut(text, max);
  // An escaped character is at most five units long, so this ends after a few rounds.
  while (escapeMrkdwn(kept).length > max) kept = cut(kept, Math.max(2, Math.floor(kept.length * 0.8)));
  return escapeMrkdwn(kept);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
