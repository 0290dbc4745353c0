import type { Conversation, Message, Reply } from "./conversation.ts";
import { sampleOf, waysOf } from "./tool-calls.ts";

/** The instruction that the script understands in a request. The newest one counts. */
const INSTRUCTION = /replace "([^"\n]+)" with "([^"\n]+)" in ([\w./-]+\w)/gi;
/** The ways in which agents tell a model about their working folder. */
const WORKING_DIRECTORY =
  /(?:working directory|in the directory|workspace directories|cwd)(?: is)?[:>*`\s-]*(\/[^\s`"'<>,;]+)/i;

/** The brief's sentences about the file for sources and about the context repository. */
const CLAIMS = /sources in the file `([^`\n]+)`/i;
const CONTEXT = /^ *- `([\w-]+)`: (\/\S+), at commit/m;

/** Decides the model's answers. */
export type Script = (conversation: Conversation) => Reply;

type Task = { old: string; new: string; path: string };

/**
 * The file of the context repository that the script names as its source, and its quote from that
 * file.
 */
export const SOURCE = { path: "src/messages.ts", quote: 'export const hint = "Install it. Then start it.";' };

/**
 * Does what one sentence asks for, with the tools that the agent offers. It reads the source in the
 * context repository and the page, replaces the text, writes down the source, and says what it did.
 * If there is only a shell, it writes with `sed` and `printf`. A request without tools gets a
 * title.
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

/** Finds the newest request, and the number of tools that were called for it. */
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
  const { look, replace, write } = waysOf(tools);
  const change = replace(path, task);
  if (change.length === 0) return [];
  return [
    ...(folder === "" ? [] : look(source)),
    ...look(path),
    ...change,
    ...(claimsFile === undefined ? [] : write(claimsFile, claims)),
  ];
}

/** Returns the texts that the model was told, without its own words and the answers of tools. */
export function textsOf({ system, messages }: Conversation): string[] {
  return [system, ...messages.flatMap((message) => (message.kind === "user" ? [message.text] : []))];
}

/** Makes a path absolute, if the agent named its working folder. */
export function absolute(path: string, conversation: Conversation): string {
  const folder = WORKING_DIRECTORY.exec(textsOf(conversation).join("\n"))?.[1]?.replace(/[./]+$/, "");
  return folder === undefined ? path : `${folder}/${path}`;
}
