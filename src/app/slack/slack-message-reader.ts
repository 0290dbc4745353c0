import type { MessageReader } from "../rules/thread/messages-to-share.ts";
import { slackFault } from "./slack-faults.ts";
import { grants, type SlackDeps } from "./slack-team.ts";
import { ReceivedMessage, readPersonMessage, withFiles } from "./message/slack-message.ts";

const HISTORY = ["channels:history", "groups:history", "im:history", "mpim:history"];
const NO_SCOPE = { kind: "credentials", error: "missing_scope" } as const;

/** Reads single messages in Slack, with one call each. */
export function createSlackMessageReader({ team }: Pick<SlackDeps, "team">): MessageReader {
  return {
    async read({ channelId, threadTs, ts }) {
      if (!HISTORY.some((scope) => grants(team.identity, scope))) return { ok: false, fault: NO_SCOPE };
      const range = { channel: channelId, oldest: ts, latest: ts, inclusive: true };
      const { conversations } = team.client;
      try {
        const { messages = [] } =
          threadTs === ts
            ? await conversations.history({ ...range, limit: 1 })
            : // Every page begins with the thread's first message.
              await conversations.replies({ ...range, ts: threadTs, limit: 2 });
        const found = messages.find((message) => message.ts === ts);
        const message = ReceivedMessage.safeParse(found);
        if (!message.success) return { ok: true, value: {} };
        const { files, beside } = readPersonMessage(message.data);
        return { ok: true, value: { ...withFiles(files), ...(beside && { beside }) } };
      } catch (thrown) {
        return { ok: false, fault: slackFault(thrown, "find") };
      }
    },
  };
}
