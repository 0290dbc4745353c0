import type { AckFn, App, RespondArguments, RespondFn } from "@slack/bolt";
import { z } from "zod";
import type { Refusal } from "../core/notifier.ts";
import { PROMPT_MAX_CHARS } from "../core/request.ts";
import type { Request } from "../core/request.ts";
import { messageOf } from "../errors.ts";
import { decodeEntities } from "../replies/mrkdwn.ts";
import {
  helpMessage,
  keptMessage,
  notKeptMessage,
  notListedMessage,
  refusalMessage,
} from "../replies/private-messages.ts";
import { acceptOrAsk, notAcceptedMessage } from "./accept-request.ts";
import { parseCommandText } from "./command-text.ts";
import type { IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { openRequestForm } from "./request-form.ts";
import { findProject, namesOf } from "./deps.ts";

export const COMMAND = "/docs-agent";

/**
 * Slack takes the answer to a command for three seconds, of which the gate may take one. The answer arrives also when Slack takes nothing else.
 */
const ANSWER_WITHIN_MS = 1_200;

/** What of a slash command's payload we use. Without one of these nothing can be done for it, and the person is told so at once. */
const TypedCommand = z.object({
  trigger_id: z.string().min(1).max(300),
  team_id: z.string().min(1),
  channel_id: z.string().min(1),
  user_id: z.string().min(1),
  text: z.string().default(""),
  response_url: z.string().nullish(),
});

/** `/docs-agent <prompt>`; alone; and with one of the words that count alone. */
export function registerCommand(app: App, deps: IntakeDeps): void {
  app.command(COMMAND, async ({ command, ack, client, respond }) => {
    const ephemeral = { response_type: "ephemeral" } as const;
    const refuse = (refusal: Refusal) => ack({ ...ephemeral, ...refusalMessage(refusal) });

    const typed = TypedCommand.safeParse(command);
    if (!typed.success) {
      const missing = typed.error.issues.map(({ path }) => path.join("."));
      deps.logger.error({ missing }, "could not read a command");
      await ack({ ...ephemeral, ...notKeptMessage() });
      return;
    }
    const { trigger_id, team_id: teamId, channel_id: channelId, user_id: userId, text } = typed.data;
    const responseUrl = typed.data.response_url ?? null;

    const parsed = parseCommandText(decodeEntities(text));
    if (parsed.kind === "help") {
      await ack({ ...ephemeral, ...helpMessage(namesOf(deps.projects)) });
      return;
    }
    if (parsed.kind === "list" || parsed.kind === "status") {
      try {
        const asked = { teamId, channelId, threadTs: null, userId, responseUrl };
        await askForList(deps, `command:${trigger_id}`, parsed, asked);
      } catch (thrown) {
        deps.logger.error({ err: thrown }, "could not take a command");
        await ack({ ...ephemeral, ...notListedMessage() });
        return;
      }
      await ack();
      return;
    }
    const project = findProject(deps.projects, parsed.project);
    if (project === undefined) {
      const known = namesOf(deps.projects);
      await refuse({ kind: "unknown-project", name: parsed.project ?? "", known });
      return;
    }
    if (parsed.kind === "empty") {
      const answer = answerOnce(ack, respond);
      const timer = setTimeout(() => {
        answer().catch((thrown: unknown) => {
          deps.logger.warn({ error: messageOf(thrown) }, "could not acknowledge a command");
        });
      }, ANSWER_WITHIN_MS);
      await openRequestForm(deps, client, (said) => answer({ ...ephemeral, ...said }), {
        triggerId: trigger_id,
        project: project.name,
        draft: {
          version: 1,
          from: "command",
          teamId,
          channelId,
          threadTs: null,
          quoted: null,
          responseUrl,
        },
      });
      clearTimeout(timer);
      await answer();
      return;
    }
    if (parsed.prompt.length > PROMPT_MAX_CHARS) {
      await refuse({
        kind: "too-long",
        length: parsed.prompt.length,
        limit: PROMPT_MAX_CHARS,
        typed: parsed.prompt,
      });
      return;
    }
    const id = `command:${trigger_id}`;
    const isRefused = deps.firstTries.isRefused(id, ANSWER_WITHIN_MS);
    try {
      const request: Request = {
        id,
        from: "command",
        teamId,
        channelId,
        threadTs: null,
        userId,
        project,
        instructions: parsed.prompt,
        quoted: null,
        responseUrl,
        receivedAt: deps.clock.now(),
      };
      const accepted = await acceptOrAsk(deps, request);
      if (accepted.kind === "refused") {
        await refuse(accepted.refusal);
        return;
      }
      if (accepted.kind === "accepted" && (await isRefused)) {
        deps.reassured.add(id);
        await ack({ ...ephemeral, ...keptMessage() });
        return;
      }
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a request");
      await ack({ ...ephemeral, ...notAcceptedMessage(thrown) });
      return;
    }
    await ack();
  });
}

/** Answers a command in its acknowledgement; anything said later goes to its response URL. */
function answerOnce(
  ack: AckFn<string | RespondArguments>,
  respond: RespondFn,
): (said?: RespondArguments) => Promise<void> {
  let isAcked = false;
  return async (said) => {
    if (isAcked && said === undefined) return;
    if (isAcked) return void (await respond({ ...said, replace_original: false }));
    isAcked = true;
    await ack(said);
  };
}
