import { redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import type { LeftOutFile, WhyLeftOut } from "./select-changes.ts";

/** How many files a note names. */
const MAX_NAMED = 5;

/** What people should know of files that are left out, if their place isn't the reason. */
const REASONS: Record<Exclude<WhyLeftOut, "other">, { why: string; advice: string }> = {
  encoding: { why: "the agent's editor damaged letters that aren't UTF-8", advice: "Change it by hand." },
  lfs: { why: "Git LFS keeps files with this name", advice: "Add it by hand." },
  filter: { why: "a filter in .gitattributes changes such files", advice: "Change it by hand." },
  tool: { why: "tools leave such files behind", advice: "To get it, name it in your request." },
  note: { why: "it looks like the agent's own notes", advice: "To get it, name it in your request." },
};

/** One sentence and what to do, for each reason for which files are left out. */
export function leftOutNotes(files: readonly LeftOutFile[], redact: Redact): string[] {
  return Object.entries(REASONS).flatMap(([reason, { why, advice }]) => {
    const paths = files.filter((file) => file.why === reason).map(({ path }) => path);
    if (paths.length === 0) return [];
    const named = paths.slice(0, MAX_NAMED).map((path) => redactedLine(redact, path, 200));
    const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : "";
    return [`Not included, because ${why}: ${named.join(", ")}${more}. ${advice}`];
  });
}
