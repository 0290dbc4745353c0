import type { App, RespondFn } from "@slack/bolt";
import { z } from "zod";
import { formNotOpenedMessage } from "../messages/private-messages.ts";
import type { Draft } from "../rules/records.ts";
import { stateOfAsked } from "./asked-before.ts";
import type { IntakeDeps } from "./deps.ts";
import { lookUpProject } from "./choose-project.ts";
import { openRequestForm } from "./request-form.ts";
import { OptionalText, ReceivedMessage, threadMessage } from "../slack/message/slack-message.ts";

export const FIX_THESE_DOCS = "fix_these_docs";

/**
 * The fields of a message shortcut that we use. `team` is null if the app is installed for a whole
 * organization.
 */
const Picked = z
  .object({
    trigger_id: z.string(),
    team: z.object({ id: z.string() }).nullish(),
    user: z.object({ team_id: OptionalText }),
    channel: z.object({ id: z.string() }),
    response_url: OptionalText,
    message: ReceivedMessage,
  })
  .transform(({ team, user, ...picked }, context) => {
    const teamId = team?.id ?? user.team_id ?? null;
    if (teamId !== null) return { ...picked, teamId };
    context.addIssue({ code: "custom", path: ["team"], message: "names no team" });
    return z.NEVER;
  });
type Picked = z.infer<typeof Picked>;

/** Handles **Fix these docs** on a message: opens a form that shows the message. */
export function registerShortcut(app: App, deps: IntakeDeps): void {
  app.shortcut(
    { callback_id: FIX_THESE_DOCS, type: "message_action" },
    async ({ shortcut, ack, client, respond }) => {
      await ack();
      const picked = Picked.safeParse(shortcut);
      if (!picked.success) {
        const faults = picked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
        deps.logger.error({ faults }, "could not read a shortcut");
        await sayNotOpened(deps, respond);
        return;
      }
      const draft = draftOf(picked.data);
      const choice = await lookUpProject(deps, { ...draft, userId: shortcut.user.id }, null);
      if (choice.kind === "unavailable") return sayNotOpened(deps, respond);
      await openRequestForm(deps, client, () => sayNotOpened(deps, respond), {
        triggerId: picked.data.trigger_id,
        choice,
        draft,
        state: await stateOfAsked(deps, draft, shortcut.user.id),
      });
    },
  );
}

async function sayNotOpened(deps: IntakeDeps, respond: RespondFn): Promise<void> {
  try {
    await respond({ ...formNotOpenedMessage, response_type: "ephemeral", replace_original: false });
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not say that the form was not opened");
  }
}

function draftOf({ teamId, channel, response_url, message }: Picked): Draft {
  const threadTs = message.thread_ts ?? null;
  const quoted = { ...threadMessage(message), channelId: channel.id, threadTs };
  return {
    version: 1,
    from: "shortcut",
    teamId,
    channelId: channel.id,
    threadTs: threadTs ?? quoted.ts,
    quoted,
    ...(threadTs === null ? {} : { isThreadUnread: true }),
    responseUrl: response_url ?? null,
  };
}
