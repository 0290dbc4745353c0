/** The beginning of a text: at most `max` UTF-16 units, and no half of a surrogate pair at its end. */
export function startOf(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max < 1) return "";
  return text.slice(0, isHighSurrogate(text.charCodeAt(max - 1)) ? max - 1 : max);
}

/**
 * Cuts text to at most `max` UTF-16 units, the ellipsis included, never through a surrogate pair. Half a pair that was in the
 * text becomes U+FFFD: strict JSON parsers refuse a whole message for it.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  if (max < 1) return "";
  return `${startOf(text, max - 1)}…`.toWellFormed();
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
