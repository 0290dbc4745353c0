import type { App } from "@slack/bolt";
import type { Refusal } from "../core/notifier.ts";
import { PROMPT_MAX_CHARS } from "../core/request.ts";
import type { Request } from "../core/request.ts";
import { decodeEntities } from "../replies/mrkdwn.ts";
import { helpMessage, notKeptMessage, refusalMessage } from "../replies/private-messages.ts";
import { openTask } from "../tasks/open.ts";
import { parseCommandText } from "./command-text.ts";
import type { IntakeDeps } from "./deps.ts";
import { openRequestForm } from "./request-form.ts";
import { findProject } from "./project.ts";

export const COMMAND = "/docs-agent";

/** `/docs-agent <prompt>`, `/docs-agent` alone, `/docs-agent help`. */
export function registerCommand(app: App, deps: IntakeDeps): void {
  app.command(COMMAND, async ({ command, ack, client, respond }) => {
    const ephemeral = { response_type: "ephemeral" } as const;
    const refuse = (refusal: Refusal) => ack({ ...ephemeral, ...refusalMessage(refusal) });

    const parsed = parseCommandText(decodeEntities(command.text ?? ""));
    if (parsed.kind === "help") {
      await ack({ ...ephemeral, ...helpMessage(deps.projects) });
      return;
    }
    const project = findProject(deps.projects, parsed.project);
    if (project === undefined) {
      await refuse({ kind: "unknown-project", name: parsed.project ?? "", known: deps.projects });
      return;
    }
    if (parsed.kind === "empty") {
      await ack();
      await openRequestForm(deps, client, respond, {
        triggerId: command.trigger_id,
        project,
        draft: {
          version: 1,
          from: "command",
          teamId: command.team_id,
          channelId: command.channel_id,
          threadTs: null,
          quoted: null,
          responseUrl: command.response_url,
        },
      });
      return;
    }
    if (parsed.prompt.length > PROMPT_MAX_CHARS) {
      await refuse({ kind: "too-long", length: parsed.prompt.length, limit: PROMPT_MAX_CHARS });
      return;
    }
    const request: Request = {
      id: `command:${command.trigger_id}`,
      from: "command",
      teamId: command.team_id,
      channelId: command.channel_id,
      threadTs: null,
      userId: command.user_id,
      project,
      instructions: parsed.prompt,
      quoted: null,
      responseUrl: command.response_url,
      receivedAt: deps.clock.now(),
    };
    try {
      await deps.queue.add(openTask(request));
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a request");
      await ack({ ...ephemeral, ...notKeptMessage() });
      return;
    }
    await ack();
  });
}
