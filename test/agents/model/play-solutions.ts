import { changedPaths, type Files, textOf } from "../../../eval/files.ts";
import type { Conversation, Reply } from "./conversation.ts";
import { absolute, type Script, textsOf } from "./script.ts";
import { sampleOf, waysOf } from "./tool-calls.ts";

/** A known solution to play when this request comes. */
export type Play = { request: string; base: Files; result: Files; words: string };

/**
 * Makes a model that plays known solutions with the agent's own tools. This doesn't evaluate any
 * model.
 */
export function playSolutions(plays: readonly Play[]): Script {
  return (conversation) => {
    const { tools, messages, answerSchema } = conversation;
    if (answerSchema !== null) return { kind: "text", text: JSON.stringify(sampleOf(answerSchema)) };
    if (tools.length === 0) return { kind: "text", text: "Docs fix" };
    const told = squeezed(textsOf(conversation).join("\n"));
    const play = plays.find(({ request }) => told.includes(squeezed(request)));
    if (play === undefined) return { kind: "text", text: "What should I change?" };
    const called = messages.filter(({ kind }) => kind === "call").length;
    return stepsOf(play, conversation)[called] ?? { kind: "text", text: play.words || "Fix the docs" };
  };
}

function stepsOf({ base, result }: Play, conversation: Conversation): Reply[] {
  const { look, write, remove } = waysOf(conversation.tools);
  return changedPaths(base, result).flatMap((path) => {
    const file = absolute(path, conversation);
    const text = textOf(result.get(path));
    if (text === null) return remove(file);
    // Agents refuse to overwrite a file that they haven't read.
    return [...(base.has(path) ? look(file) : []), ...write(file, text)];
  });
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, " ");
}
