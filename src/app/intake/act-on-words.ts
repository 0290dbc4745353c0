import type { PrivateAnswer } from "../rules/ports/notifier.ts";
import { isAskOnly } from "../rules/access.ts";
import { defaultWords, privatePlace, type Request } from "../rules/turn/request.ts";
import { askingWhich, type WantedJob } from "../rules/decisions/accept.ts";
import { replyAnswering } from "../rules/decisions/answering.ts";
import { replyTask, thankTask } from "../rules/decisions/new-tasks.ts";
import { acceptOrAsk, acceptRequest } from "./accept-request.ts";
import { tooLong, type Accepted, type IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { withoutQuestion, type MessagePlace } from "./place-of-words.ts";
import { askForProject, projectFor } from "./choose-project.ts";
import { readWords, type Words } from "./read-words.ts";

/** `handled` means that it was no request, and all that it asked for is under way. */
export type Acted = Accepted | { kind: "handled" };

/** What is known of a message besides its words and its place. */
type How = {
  /** The job that it is for if its words don't say. */
  wanted: WantedJob;
  /** True if its author was asked, and says that it is a request. */
  isChosen?: boolean;
  /** True if what it shows besides its words can be a request by itself. */
  isTelling?: boolean;
};

/** Does what a message's words ask for. `request` has them as they were typed. */
export async function actOnWords(
  deps: IntakeDeps,
  request: Request,
  at: MessagePlace,
  how: How,
): Promise<Acted> {
  const words = readWords(request.instructions, at.place);
  // Other replies aren't for the app.
  if (how.wanted === "own-open-request" && !at.isOwn && words.kind !== "answer") return { kind: "known" };
  switch (words.kind) {
    case "answer":
    case "perhaps-answer": {
      const taken = await takeAnswer(deps, request, at, words.kind);
      // The question has closed meanwhile.
      return taken ? HANDLED : actOnWords(deps, request, withoutQuestion(at), how);
    }
    case "own-answer":
      return answer(deps, request, words.answer);
    case "list":
      await askForList(deps, request.id, words, {
        ...privatePlace(request),
        userId: request.userId,
        responseUrl: null,
      });
      return HANDLED;
    case "thanks": {
      // What stands beside it is more than thanks.
      if (request.beside !== undefined || request.files !== undefined) {
        const said = { prompt: request.instructions, project: null, isNew: false };
        return actOnPrompt(deps, request, at, said, how);
      }
      const { teamId, channelId, messageTs: ts } = request;
      if (ts !== undefined) await deps.queue.add(thankTask(request.id, { teamId, channelId, ts }));
      return HANDLED;
    }
    case "empty":
      return how.isTelling === true
        ? actOnPrompt(
            deps,
            request,
            at,
            { ...words, prompt: defaultWords(isAskOnly(deps.access, request.channelId)) },
            how,
          )
        : answerEmpty(deps, request, how);
    case "unknown-project": {
      const choice = await projectFor(deps, request, words.name);
      return choice.kind === "unknown-project" ? { kind: "refused", refusal: choice } : HANDLED;
    }
    case "prompt":
      return actOnPrompt(deps, request, at, words, how);
  }
}

const HANDLED: Acted = { kind: "handled" };

/** Resolves to false if the question takes no answer any more. */
async function takeAnswer(
  deps: IntakeDeps,
  request: Request,
  { asked }: MessagePlace,
  kind: "answer" | "perhaps-answer",
): Promise<boolean> {
  if (asked === null) return false;
  if (kind === "perhaps-answer") {
    await deps.queue.commit(() => askingWhich(request, asked));
    return true;
  }
  const reply: Request = { ...request, isAdmitted: true };
  return (await deps.queue.commit((read) => replyAnswering(deps, read, reply, asked))) !== "closed";
}

async function actOnPrompt(
  deps: IntakeDeps,
  request: Request,
  { place, hasProject }: MessagePlace,
  { prompt, project: name, isNew }: Omit<Extract<Words, { kind: "prompt" }>, "kind">,
  { wanted, isChosen }: How,
): Promise<Acted> {
  const choice = await projectFor(deps, request, name);
  if (choice.kind === "unknown-project") return { kind: "refused", refusal: choice };
  const refusal = tooLong(prompt);
  if (refusal !== null) return { kind: "refused", refusal };
  if (choice.kind === "ask" && (isNew || !hasProject)) {
    await askForProject(deps, { ...request, instructions: prompt });
    return HANDLED;
  }
  // A follow-up is in its job's project.
  const project = choice.kind === "chosen" ? choice.project : request.project;
  const inThread = isNew ? "separate-job" : name === null ? wanted : "thread-in-project";
  const accept = isChosen === true ? acceptRequest : acceptOrAsk;
  const asked = { ...request, project, instructions: prompt };
  return accept(deps, asked, place.isInThread ? inThread : "own-job");
}

/** Answers a message without words. Replies that may be for others get an answer only for files. */
async function answerEmpty(deps: IntakeDeps, request: Request, { wanted }: How): Promise<Acted> {
  const isOfFiles = (request.files ?? []).length > 0;
  if (wanted === "own-open-request" && !isOfFiles) return HANDLED;
  return answer(deps, request, { kind: "help", ...(isOfFiles ? { isOfFiles } : {}) });
}

async function answer(deps: IntakeDeps, request: Request, message: PrivateAnswer): Promise<Acted> {
  await answerAuthor(deps, request, message);
  return HANDLED;
}

/** Answers a message's author privately, once, however often the message arrives. */
export async function answerAuthor(
  { queue }: Pick<IntakeDeps, "queue">,
  request: Request,
  message: PrivateAnswer,
): Promise<void> {
  const { id, userId } = request;
  await queue.add(replyTask(id, { ...privatePlace(request), userId, message }));
}
