import { type Reply, Schema, type Tool } from "./conversation.ts";

const PATH = /^(?:file_?path|path|abs(?:olute)?_?path)$/i;
const OLD = /^old/i;
const NEW = /^new/i;
const COMMAND = /^(?:command|cmd)$/i;
const CONTENT = /^(?:content|contents|file_?text)$/i;

/** The calls that an agent's tools allow a model to make. They are empty if no tool fits. */
export type Ways = {
  look: (file: string) => Reply[];
  replace: (file: string, change: { old: string; new: string }) => Reply[];
  write: (file: string, content: string) => Reply[];
  remove: (file: string) => Reply[];
};

/** Chooses the agent's own tools, or its shell if there are none. */
export function waysOf(tools: readonly Tool[]): Ways {
  const shell = tools.find((tool) => /shell|exec|bash|command/i.test(tool.name) && has(tool, COMMAND));
  const inShell = (command: string) => (shell === undefined ? [] : [callOf(shell, [[COMMAND, command]])]);
  const writer = tools.find((tool) => has(tool, PATH) && has(tool, CONTENT) && !has(tool, OLD));
  const editor = tools.find((tool) => has(tool, PATH) && has(tool, OLD) && has(tool, NEW));
  const reader = tools.find((tool) => /^(?:read|view|read_file)$/i.test(tool.name) && has(tool, PATH));
  const given = (tool: Tool, ...known: (readonly [RegExp, string])[]) => [callOf(tool, known)];
  return {
    look: (file) => (reader === undefined ? inShell(`cat ${file}`) : given(reader, [PATH, file])),
    replace: (file, change) =>
      editor === undefined
        ? inShell(`sed -i 's|${forSed(change.old)}|${forSed(change.new)}|' ${file}`)
        : given(editor, [PATH, file], [OLD, change.old], [NEW, change.new]),
    write: (file, content) =>
      writer === undefined
        ? inShell(`printf %s '${content.replaceAll("'", `'\\''`)}' > ${file}`)
        : given(writer, [PATH, file], [CONTENT, content]),
    remove: (file) => inShell(`rm ${file}`),
  };
}

function has({ parameters }: Tool, name: RegExp): boolean {
  return Object.keys(parameters.properties ?? {}).some((key) => name.test(key));
}

/**
 * Makes a call with the known values, and with samples for the other parameters that the tool
 * requires.
 */
function callOf({ name, parameters }: Tool, known: readonly (readonly [RegExp, string])[]): Reply {
  const given: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(parameters.properties ?? {})) {
    const value = known.find(([pattern]) => pattern.test(key))?.[1];
    if (value !== undefined) {
      given[key] = Schema.safeParse(schema).data?.type === "array" ? ["sh", "-c", value] : value;
    } else if (parameters.required?.includes(key)) {
      given[key] = sampleOf(schema);
    }
  }
  return { kind: "call", name, arguments: given };
}

/**
 * Returns the smallest value that a JSON schema accepts. It knows only the parts of schemas that
 * are used here.
 */
export function sampleOf(given: unknown): unknown {
  const schema = Schema.safeParse(given).data ?? {};
  if (schema.enum !== undefined) return schema.enum[0];
  const [type] = [schema.type ?? "string"].flat();
  switch (type?.toLowerCase()) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, inner]) => [key, sampleOf(inner)]),
      );
    case "array":
      return [];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return 1;
    default:
      return "Fix the docs";
  }
}

function forSed(text: string): string {
  return text.replaceAll(/[\\|.*[\]^$&]/g, "\\$&").replaceAll("'", `'\\''`);
}
