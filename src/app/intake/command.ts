import type { AckFn, App, RespondArguments, RespondFn } from "@slack/bolt";
import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { OwnAnswer, Refusal } from "../rules/ports/notifier.ts";
import { asksForProject } from "../rules/project-choice.ts";
import type { Request } from "../rules/turn/request.ts";
import type { Rendered } from "../messages/blocks.ts";
import { messageOf } from "../../shared/errors.ts";
import { decodeEntities } from "../messages/mrkdwn.ts";
import {
  keptMessage,
  notKeptMessage,
  notListedMessage,
  ownAnswerMessage,
} from "../messages/private-messages.ts";
import { refusalMessage } from "../messages/refusal-message.ts";
import { acceptOrAsk, notAcceptedMessage } from "./accept-request.ts";
import { namesOf, tooLong, type IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { askForProject, lookUpProject } from "./choose-project.ts";
import { readWords, type WordsPlace } from "./read-words.ts";
import { openRequestForm } from "./request-form.ts";

export const COMMAND = "/docs-agent";

/**
 * Slack waits three seconds for the answer to a command, of which the guest check may use one. The
 * answer arrives even if Slack accepts nothing else.
 */
const ANSWER_WITHIN_MS = 1_200;

/**
 * The fields of a slash command that we use. If one is missing, nothing can be done, and the person
 * is told so at once.
 */
const TypedCommand = z.object({
  trigger_id: z.string().min(1).max(300),
  team_id: z.string().min(1),
  channel_id: z.string().min(1),
  user_id: z.string().min(1),
  text: z.string().default(""),
  response_url: z.string().nullish(),
});

/** Handles `/docs-agent` with a prompt, with a subcommand, or alone. */
export function registerCommand(app: App, deps: IntakeDeps): void {
  app.command(COMMAND, async ({ command, ack, client, respond }) => {
    const say = (message: Rendered) => ack({ ...EPHEMERAL, ...message });
    const refuse = (refusal: Refusal) => say(refusalMessage(refusal, deps));

    const typed = TypedCommand.safeParse(command);
    if (!typed.success) {
      const missing = typed.error.issues.map(({ path }) => path.join("."));
      deps.logger.error({ missing }, "could not read a command");
      return say(notKeptMessage);
    }
    const { trigger_id, team_id: teamId, channel_id: channelId, user_id: userId, text } = typed.data;
    const responseUrl = typed.data.response_url ?? null;
    const place = { teamId, channelId, threadTs: null };
    const id = `command:${trigger_id}`;

    const names = namesOf(deps.projects);
    const words = readWords(decodeEntities(text), { ...OUTSIDE, projects: names });
    if (words.kind === "list") {
      try {
        await askForList(deps, id, words, { ...place, userId, responseUrl });
        return ack();
      } catch (thrown) {
        deps.logger.error({ err: thrown }, "could not take a command");
        return say(notListedMessage);
      }
    }
    if (words.kind !== "prompt" && words.kind !== "empty" && words.kind !== "unknown-project") {
      const answer = words.kind === "own-answer" ? words.answer : HELP;
      return say(ownAnswerMessage(answer, { projects: names, asksForProject: asksForProject(deps) }));
    }
    const option = words.kind === "unknown-project" ? words.name : words.project;
    const choice = await lookUpProject(deps, { teamId, userId, channelId }, option);
    if (choice.kind === "unavailable") return say(notAcceptedMessage(choice.thrown, deps));
    if (choice.kind === "unknown-project") return refuse(choice);
    if (words.kind !== "prompt") {
      const draft = { version: 1, from: "command", ...place, quoted: null, responseUrl } as const;
      const asked = { triggerId: trigger_id, choice, draft };
      return openForm(deps, client, answerOnce(ack, respond), asked);
    }
    const { prompt } = words;
    const refusal = tooLong(prompt);
    if (refusal !== null) return refuse({ ...refusal, typed: prompt });
    const isRefused = deps.firstTries.isRefused(id, ANSWER_WITHIN_MS);
    try {
      const request: Request = {
        id,
        from: "command",
        ...place,
        userId,
        project: choice.kind === "chosen" ? choice.project : deps.projects[0],
        instructions: prompt,
        quoted: null,
        responseUrl,
        receivedAt: deps.clock.now(),
      };
      if (choice.kind === "ask") {
        await askForProject(deps, request);
        return ack();
      }
      const accepted = await acceptOrAsk(deps, request);
      if (accepted.kind === "refused") return refuse(accepted.refusal);
      if (accepted.kind !== "accepted" || !(await isRefused)) return ack();
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a request");
      return say(notAcceptedMessage(thrown, deps));
    }
    deps.reassured.add(id);
    return say(keptMessage);
  });
}

/** Opens the form, and acknowledges the command even if Slack takes long to open it. */
async function openForm(
  deps: IntakeDeps,
  client: WebClient,
  answer: ReturnType<typeof answerOnce>,
  asked: Parameters<typeof openRequestForm>[3],
): Promise<void> {
  const timer = setTimeout(() => {
    answer().catch((thrown: unknown) => {
      deps.logger.warn({ error: messageOf(thrown) }, "could not acknowledge a command");
    });
  }, ANSWER_WITHIN_MS);
  await openRequestForm(deps, client, (message) => answer({ ...EPHEMERAL, ...message }), asked);
  clearTimeout(timer);
  return answer();
}

/** Slash commands don't work in threads, and in direct messages they are commands, too. */
const OUTSIDE: Omit<WordsPlace, "projects"> = {
  isDirect: false,
  isInThread: false,
  hasJob: false,
  question: null,
};

const HELP: OwnAnswer = { kind: "help" };

const EPHEMERAL = { response_type: "ephemeral" } as const;

/** Answers a command in its acknowledgement. Later answers go to its response URL. */
function answerOnce(
  ack: AckFn<string | RespondArguments>,
  respond: RespondFn,
): (message?: RespondArguments) => Promise<void> {
  let isAcked = false;
  return async (message) => {
    if (isAcked && message === undefined) return;
    if (isAcked) return void (await respond({ ...message, replace_original: false }));
    isAcked = true;
    await ack(message);
  };
}
