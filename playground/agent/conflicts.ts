/**
 * A conflict between git's marks: what the job wrote, what was there before, and what is there now.
 */
const CONFLICT = /^<{7}[^\n]*\n([^]*?)^\|{7}[^\n]*\n([^]*?)^={7}\n([^]*?)^>{7}[^\n]*\n?/gm;

/** True if a prompt asks to resolve conflicts. */
export function isAboutConflicts(prompt: string): boolean {
  return /^The branch \S+ has moved on, and git can't join it\b/.test(prompt);
}

/**
 * Resolves the conflicts of a page: it keeps what is there now, and changes the same words in it
 * that the job had changed before. The job's text stays where nothing else has changed.
 */
export function withoutConflicts(text: string): string {
  return text.replaceAll(CONFLICT, (_, ours: string, before: string, theirs: string) => {
    if (theirs === before) return ours;
    const changed = changedWords(before, ours);
    return theirs
      .split(/(\s+)/)
      .map((word) => changed.get(word) ?? word)
      .join("");
  });
}

/** The words that were replaced one by one. None if there are more or fewer than before. */
function changedWords(before: string, after: string): ReadonlyMap<string, string> {
  const from = before.split(/\s+/);
  const to = after.split(/\s+/);
  if (from.length !== to.length) return new Map();
  return new Map(from.flatMap((word, at) => (word === to[at] ? [] : [[word, to[at] ?? word] as const])));
}
