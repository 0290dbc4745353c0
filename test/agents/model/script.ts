import { type Conversation, type Message, type Reply, Schema, type Tool } from "./conversation.ts";

/** What the script understands of a request. The newest one counts. */
const INSTRUCTION = /replace "([^"\n]+)" with "([^"\n]+)" in ([\w./-]+\w)/gi;
/** How agents tell a model where they are. */
const WORKING_DIRECTORY =
  /(?:working directory|in the directory|workspace directories|cwd)(?: is)?[:>*`\s-]*(\/[^\s`"'<>,;]+)/i;

const PATH = /^(?:file_?path|path|abs(?:olute)?_?path)$/i;
const OLD = /^old/i;
const NEW = /^new/i;
const COMMAND = /^(?:command|cmd)$/i;

type Task = { old: string; new: string; path: string };

/**
 * A model that does what one sentence asks for, with the tools that the agent offers: it reads the file, replaces the text by an
 * editing tool (or by `sed` where there is only a shell) and says what it did. A request without tools gets a title.
 */
export function nextReply(conversation: Conversation): Reply {
  const { tools, messages, answerSchema } = conversation;
  if (answerSchema !== null) return { kind: "text", text: JSON.stringify(sampleOf(answerSchema)) };
  if (tools.length === 0) return { kind: "text", text: "Docs fix" };
  const found = findTask(messages);
  if (found === null) return { kind: "text", text: "What should I change?" };
  const { task, callsSince } = found;
  const steps = stepsFor(task, conversation);
  if (steps.length === 0) {
    return { kind: "text", text: `I can't edit: none of ${tools.map(({ name }) => name).join(", ")} fits.` };
  }
  return (
    steps[callsSince] ?? {
      kind: "text",
      text: `Replace "${task.old}" with "${task.new}"\n\nI changed ${task.path}.`,
    }
  );
}

/** The newest request, and how many tools were called for it. */
function findTask(messages: readonly Message[]): { task: Task; callsSince: number } | null {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message?.kind !== "user") continue;
    const last = [...message.text.matchAll(INSTRUCTION)].at(-1);
    if (last === undefined) continue;
    const [, old = "", replacement = "", path = ""] = last;
    const callsSince = messages.slice(index).filter(({ kind }) => kind === "call").length;
    return { task: { old, new: replacement, path }, callsSince };
  }
  return null;
}

function stepsFor(task: Task, conversation: Conversation): Reply[] {
  const { tools } = conversation;
  const path = absolute(task.path, conversation);
  const editor = tools.find((tool) => has(tool, PATH) && has(tool, OLD) && has(tool, NEW));
  if (editor !== undefined) {
    const reader = tools.find(({ name }) => /^(?:read|view|read_file)$/i.test(name));
    return [
      ...(reader === undefined ? [] : [callOf(reader, [[PATH, path]])]),
      callOf(editor, [
        [PATH, path],
        [OLD, task.old],
        [NEW, task.new],
      ]),
    ];
  }
  const shell = tools.find((tool) => /shell|exec|bash|command/i.test(tool.name) && has(tool, COMMAND));
  if (shell === undefined) return [];
  const command = `sed -i 's|${forSed(task.old)}|${forSed(task.new)}|' ${task.path}`;
  return [callOf(shell, [[COMMAND, command]])];
}

function has({ parameters }: Tool, name: RegExp): boolean {
  return Object.keys(parameters.properties ?? {}).some((key) => name.test(key));
}

/** A call with what is known, and something for whatever else the tool insists on. */
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

/** The smallest value that a JSON schema takes, for what is used here. */
function sampleOf(given: unknown): unknown {
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

function absolute(path: string, { system, messages }: Conversation): string {
  const said = [system, ...messages.map((message) => (message.kind === "user" ? message.text : ""))];
  const folder = WORKING_DIRECTORY.exec(said.join("\n"))?.[1]?.replace(/[./]+$/, "");
  return folder === undefined ? path : `${folder}/${path}`;
}

function forSed(text: string): string {
  return text.replaceAll(/[\\|.*[\]^$&]/g, "\\$&").replaceAll("'", `'\\''`);
}
