/** What a person typed after `/docs-agent`, or after a mention of the app. */
export type CommandText =
  | { kind: "help" }
  | { kind: "empty"; project: string | null }
  | { kind: "prompt"; project: string | null; prompt: string };

const PROJECT = /^project=(\S*)(?:\s+|$)/i;

/**
 * Reads the text of a command. A subcommand counts only when it stands alone: "help users find the API key" is a prompt. The
 * prompt is what was typed, without white space around it.
 */
export function parseCommandText(text: string): CommandText {
  const typed = text.trim();
  if (typed.toLowerCase() === "help") return { kind: "help" };
  const match = PROJECT.exec(typed);
  const project = match?.[1] ?? null;
  const prompt = match === null ? typed : typed.slice(match[0].length).trim();
  return prompt === "" ? { kind: "empty", project } : { kind: "prompt", project, prompt };
}
