import { createHash } from "node:crypto";

/** The parts of a text that we own. What people write around them stays. */
export type TextPart = "main" | "checks";

const MARKS = {
  main: ["<!-- docs-agent:start -->", "<!-- docs-agent:end -->"],
  checks: ["<!-- docs-agent:checks -->", "<!-- docs-agent:checks-end -->"],
} as const satisfies Record<TextPart, readonly [string, string]>;

/** Says that a pull request is a draft because of us. */
export const DRAFT_MARK = "<!-- docs-agent:draft -->";

/**
 * Says that a pull request has the title that we gave it, so that a later turn may give it another
 * one, or that it has a person's (null).
 */
export function titleMark(title: string | null): string {
  const ours = title === null ? "theirs" : createHash("sha256").update(title).digest("hex").slice(0, 16);
  return `<!-- docs-agent:title ${ours} -->`;
}

/** True if a text says that this title is ours. Null if it says nothing of its title. */
export function saysOurTitle(text: string | null, title: string): boolean | null {
  if (text?.includes(titleMark(title)) === true) return true;
  return text !== null && /<!-- docs-agent:title \w{1,16} -->/.test(text) ? false : null;
}

/** Names a pull request's job for the service's operator, where readers don't see it. */
export function jobMark(jobId: string): string {
  return `<!-- docs-agent:job ${jobId.replaceAll(/[^\w-]/g, "?")} -->`;
}

/**
 * Replaces our parts of a pull request's text, and keeps what people wrote around them, or in their
 * place.
 */
export function mergedBody(existing: string | null, parts: Readonly<Record<TextPart, string>>): string {
  if (existing === null || existing.trim() === "") return parts.main;
  if (!hasPart(existing, "main")) return `${existing.trimEnd()}\n\n${parts.main}`;
  return replaced(replaced(existing, "main", parts.main), "checks", parts.checks);
}

/** True if a text says that we made its pull request a draft. */
export function saysOurDraft(text: string | null): boolean {
  return text?.includes(DRAFT_MARK) === true;
}

/** True if a text contains this part of ours. */
export function hasPart(text: string | null, part: TextPart): boolean {
  const from = text?.indexOf(MARKS[part][0]) ?? -1;
  return from >= 0 && (text?.indexOf(MARKS[part][1], from) ?? -1) >= 0;
}

function replaced(text: string, part: TextPart, ours: string): string {
  if (!hasPart(text, part)) return text;
  const [start, end] = MARKS[part];
  const from = text.indexOf(start);
  return text.slice(0, from) + ours + text.slice(text.indexOf(end, from) + end.length);
}

/** A part of ours, between its marks. */
export function marked(part: TextPart, text: string): string {
  return [MARKS[part][0], text, MARKS[part][1]].join("\n\n");
}
