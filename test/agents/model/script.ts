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
const CONTENT = /^(?:content|contents|file_?text)$/i;
/** Where the brief says that sources are to be written down, and that a context repository lies. */
const CLAIMS = /sources in the file `([^`\n]+)`/i;
const CONTEXT = /^ *- `([\w-]+)`: (\/\S+), at commit/m;

type Task = { old: string; new: string; path: string };

/** The file of the context repository that the script's sources name, and what it quotes of it. */
export const SOURCE = { path: "src/messages.ts", quote: 'export const hint = "Install it. Then start it.";' };

/**
 * A model that does what one sentence asks for, with the tools that the agent offers: it reads the
 * source in the context repository and the page, replaces the text, writes down the source (by
 * `sed` and `printf` where there is only a shell), and says what it did. A request without tools
 * gets a title.
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
  const told = textsOf(conversation).join("\n");
  const [, claimsFile] = CLAIMS.exec(told) ?? [];
  const [, repository = "", folder = ""] = CONTEXT.exec(told) ?? [];
  const source = `${folder}/${SOURCE.path}`;
  const claims = JSON.stringify([
    { page: task.path, statement: task.new, source: { repository, line: 1, ...SOURCE } },
  ]);
  const shell = tools.find((tool) => /shell|exec|bash|command/i.test(tool.name) && has(tool, COMMAND));
  const inShell = (command: string) => (shell === undefined ? [] : [callOf(shell, [[COMMAND, command]])]);
  const writer = tools.find((tool) => has(tool, PATH) && has(tool, CONTENT) && !has(tool, OLD));
  const editor = tools.find((tool) => has(tool, PATH) && has(tool, OLD) && has(tool, NEW));
  const reader = tools.find((tool) => /^(?:read|view|read_file)$/i.test(tool.name) && has(tool, PATH));
  const look = (file: string) =>
    reader === undefined ? inShell(`cat ${file}`) : [callOf(reader, [[PATH, file]])];
  const change =
    editor === undefined
      ? inShell(`sed -i 's|${forSed(task.old)}|${forSed(task.new)}|' ${task.path}`)
      : [
          callOf(editor, [
            [PATH, path],
            [OLD, task.old],
            [NEW, task.new],
          ]),
        ];
  if (change.length === 0) return [];
  const writeDown = (file: string) =>
    writer === undefined
      ? inShell(`printf %s '${claims}' > ${file}`)
      : [
          callOf(writer, [
            [PATH, file],
            [CONTENT, claims],
          ]),
        ];
  return [
    ...(folder === "" ? [] : look(source)),
    ...look(path),
    ...change,
    ...(claimsFile === undefined ? [] : writeDown(claimsFile)),
  ];
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

/** What the model was told, without what it said and what tools answered. */
export function textsOf({ system, messages }: Conversation): string[] {
  return [system, ...messages.flatMap((message) => (message.kind === "user" ? [message.text] : []))];
}

function absolute(path: string, conversation: Conversation): string {
  const folder = WORKING_DIRECTORY.exec(textsOf(conversation).join("\n"))?.[1]?.replace(/[./]+$/, "");
  return folder === undefined ? path : `${folder}/${path}`;
}

function forSed(text: string): string {
  return text.replaceAll(/[\\|.*[\]^$&]/g, "\\$&").replaceAll("'", `'\\''`);
}
