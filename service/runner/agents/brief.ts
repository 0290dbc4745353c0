import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CLAIMS_FILE } from "../claims/claims-file.ts";
import type { InsidePaths } from "../sandbox/sandbox.ts";
import type { OpenContext, RunnerProject } from "../turn.ts";

const TEMPLATE = readFileSync(new URL("./brief.md", import.meta.url), "utf8");
/** From here on, the template tells what may be another in the next turn. */
const PROJECTS_PART = TEMPLATE.slice(TEMPLATE.indexOf("## In this project"));
const REMINDER = "What you were told at the beginning of this session holds, your sources and summary too.";

/** What an agent is told of its work, but for the request. */
export type Brief = {
  whole: string;
  /** For a session that got the whole one in an earlier turn. */
  reminder: string;
};

/** `contextFolder`: where the agent finds the context repositories, if there are any. */
export function briefOf(
  { docs, context, agent }: Pick<RunnerProject, "docs" | "context" | "agent">,
  contexts: readonly Pick<OpenContext, "name" | "commit">[],
  { tmp, contextFolder }: Pick<InsidePaths, "tmp"> & { contextFolder: string },
): Brief {
  const missing = context.filter(({ name }) => !contexts.some((read) => read.name === name));
  const values = {
    asks: agent.asks ? "yes" : "",
    claims: join(tmp, CLAIMS_FILE),
    contextFolder,
    docs: codeList(docs),
    styleGuide: codeList(agent.styleGuide),
    contexts: contexts
      .map(({ name, commit }) => `  - \`${name}\`: ${join(contextFolder, name)}, at commit ${commit}`)
      .join("\n"),
    missing: missing.map(({ name }) => name).join(", "),
    instructions: agent.instructions?.trim() ?? "",
  };
  return { whole: fill(TEMPLATE, values), reminder: `${REMINDER}\n\n${fill(PROJECTS_PART, values)}` };
}

function codeList(texts: readonly string[]): string {
  return texts.map((text) => `\`${text}\``).join(", ");
}

/**
 * Fills in `{{name}}`. What stands between `{{#name}}` and `{{/name}}` is kept where there is
 * something to fill in, and between `{{^name}}` and `{{/name}}` where there is nothing.
 */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  const sections = /\{\{([#^])(\w+)\}\}\n?([^]*?)\{\{\/\2\}\}(?:(?<=^\{\{\/\2\}\})\n)?/gm;
  return template
    .replace(sections, (_all, sign: string, name: string, inner: string) =>
      (values[name] !== "") === (sign === "#") ? inner : "",
    )
    .replace(/\{\{(\w+)\}\}/g, (_all, name: string) => values[name] ?? "")
    .trim();
}
