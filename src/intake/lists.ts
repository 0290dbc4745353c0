import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { LIST_NEWER, LIST_OLDER, listValue } from "../replies/actions.ts";
import { notListedMessage } from "../replies/private-messages.ts";
import { listTask } from "../tasks/list.ts";
import type { ListPayload } from "../tasks/list.ts";
import type { CommandText } from "./command-text.ts";
import type { IntakeDeps } from "./deps.ts";
import { teamOf } from "./deps.ts";

type Asked = Pick<ListPayload, "teamId" | "channelId" | "threadTs" | "userId" | "responseUrl">;

/** Has somebody shown what they typed `list`, `list channel` or `status` for. `cause` is derived from what Slack sent. */
export async function askForList(
  deps: Pick<IntakeDeps, "queue">,
  cause: string,
  typed: Extract<CommandText, { kind: "list" | "status" }>,
  asked: Asked,
): Promise<void> {
  const of = typed.kind === "list" ? typed.of : "standing";
  await deps.queue.add(listTask(cause, { ...asked, of, from: 0, replaces: false }));
}

/** The buttons that turn the pages of a list. */
export function registerLists(app: App, deps: IntakeDeps): void {
  for (const actionId of [LIST_NEWER, LIST_OLDER]) {
    app.action<BlockAction<ButtonAction>>(actionId, async ({ ack, action, body, context, respond }) => {
      const value = listValue.read(action.value);
      const channelId = body.channel?.id;
      if (value === null || channelId === undefined) {
        await ack();
        return;
      }
      const { container } = body;
      const threadTs: unknown = container.thread_ts;
      try {
        await deps.queue.add(
          listTask(`press:${body.trigger_id}`, {
            teamId: teamOf(context),
            channelId,
            threadTs: typeof threadTs === "string" ? threadTs : null,
            userId: body.user.id,
            responseUrl: body.response_url,
            ...value,
            replaces: true,
          }),
        );
      } catch (thrown) {
        deps.logger.error({ err: thrown }, "could not turn a list's page");
        await ack();
        await respond({ ...notListedMessage(), response_type: "ephemeral", replace_original: false });
        return;
      }
      await ack();
    });
  }
}
