import { containerOf, onPress } from "./press.ts";
import type { App } from "@slack/bolt";
import { ACTIONS, listValue } from "../messages/actions.ts";
import { notListedMessage } from "../messages/private-messages.ts";
import { listTask, type ListPayload } from "../rules/decisions/new-tasks.ts";
import type { ListWords } from "./read-words.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";

type Asked = Pick<ListPayload, "teamId" | "channelId" | "threadTs" | "userId" | "responseUrl">;

/**
 * Adds the task that shows what a person typed `list`, `list channel`, `list open` or `status`
 * for. `cause` is derived from what Slack sent.
 */
export async function askForList(
  deps: Pick<IntakeDeps, "queue">,
  cause: string,
  { of, isOpen }: ListWords,
  asked: Asked,
): Promise<void> {
  const stored = of === "overview" ? "standing" : of;
  const page = { of: stored, ...(isOpen && { isOpen }), from: 0, replaces: false } as const;
  await deps.queue.add(listTask(cause, { ...asked, ...page }));
}

/** The buttons that turn the pages of a list. */
export function registerLists(app: App, deps: IntakeDeps): void {
  for (const actionId of [ACTIONS.listNewer, ACTIONS.listOlder]) {
    onPress(app, deps, actionId, listValue, async (page, body, context) => {
      const asked = {
        teamId: teamOf(context),
        channelId: body.channel?.id ?? "",
        threadTs: containerOf(body).thread_ts ?? null,
        userId: body.user.id,
        responseUrl: body.response_url,
      };
      try {
        await deps.queue.add(listTask(`press:${body.trigger_id}`, { ...asked, ...page, replaces: true }));
        return null;
      } catch (thrown) {
        deps.logger.error({ err: thrown }, "could not turn a list's page");
        return notListedMessage;
      }
    });
  }
}
