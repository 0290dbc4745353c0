import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { Logger } from "../../shared/machine/ports.ts";
import type { Message, Notifier, NotifierAnswer, NotifierFault } from "../rules/ports/notifier.ts";
import type { Place } from "../rules/turn/request.ts";
import { isDirect } from "../rules/thread/request-list.ts";
import { messageOf } from "../../shared/errors.ts";
import type { Rendered, Presentation } from "../messages/blocks.ts";
import { findPost, isInThread, metadataOf } from "./find-post.ts";
import { render } from "../messages/render.ts";
import { type SlackClock, grants, isKnown, type SlackTeam } from "./slack-team.ts";
import type { CallPurpose } from "./slack-error-codes.ts";
import { isContentRefused, slackFault, httpFault, networkFault, rateLimited } from "./slack-faults.ts";

type SlackNotifierOptions = {
  team: SlackTeam;
  presentation: Presentation;
  /** The clock that reads the answers to the team's client. */
  slackClock: SlackClock;
  logger: Logger;
  /** Timeout of one request to a response URL, milliseconds. */
  timeoutMs: number;
};

/** Sends messages through Slack's Web API and response URLs. */
export function createSlackNotifier(options: SlackNotifierOptions): Notifier {
  const { team, presentation, slackClock, logger } = options;
  const { client } = team;
  const withPlainFallback = createFallback(logger);

  function rendered(message: Message): Rendered {
    return render(message, presentation, team.identity);
  }

  /** Turns everything that `call` throws into a fault. */
  async function answered<T>(
    purpose: CallPurpose,
    call: () => Promise<NotifierAnswer<T>>,
  ): Promise<NotifierAnswer<T>> {
    try {
      return await call();
    } catch (thrown) {
      return { ok: false, fault: slackFault(thrown, purpose) };
    }
  }

  return {
    async post(place, message, label) {
      return answered(isDirect(place.channelId) ? "post-directly" : "post", async () => {
        const answer = await withPlainFallback(place.teamId, rendered(message), (content) =>
          client.chat.postMessage({
            channel: place.channelId,
            ...inThread(place),
            ...content,
            metadata: metadataOf(label),
            parse: "none",
            unfurl_links: false,
            unfurl_media: false,
          }),
        );
        const channelId = answer.channel ?? place.channelId;
        const ts = z.string().parse(answer.ts);
        const isThreadSaid = place.threadTs === null || answer.message?.thread_ts !== undefined;
        if (!isThreadSaid && (await takeBackOutsideThread(client, { ...place, channelId }, ts))) {
          return { ok: false, fault: { kind: "place", error: "thread_not_found" } };
        }
        return done({ channelId, ts });
      });
    },

    async find(place, label, search) {
      if (!isKnown(team.identity)) return { ok: false, fault: NOT_KNOWN };
      return answered("find", async () => done(await findPost(team, place, label, search)));
    },

    async isEmpty(place) {
      return answered("find", async () => {
        const { messages } = await client.conversations.history({ channel: place.channelId, limit: 1 });
        return done(messages?.length === 0);
      });
    },

    async update(place, ts, message, label) {
      return answered("update", async () => {
        await withPlainFallback(place.teamId, rendered(message), (content) =>
          client.chat.update({
            channel: place.channelId,
            ts,
            ...content,
            metadata: metadataOf(label),
            parse: "none",
          }),
        );
        return done(null);
      });
    },

    async remove({ channelId }, ts) {
      return answered("update", async () => {
        await client.chat.delete({ channel: channelId, ts });
        return done(null);
      });
    },

    async react({ channelId, ts }, { name, isOn }) {
      return answered("react", async () => {
        if (!grants(team.identity, "reactions:write")) return { ok: false, fault: NO_SCOPE };
        const reaction = { channel: channelId, timestamp: ts, name };
        try {
          if (isOn) await client.reactions.add(reaction);
          else await client.reactions.remove(reaction);
        } catch (thrown) {
          const isSo = isOn ? "already_reacted" : "no_reaction";
          if (slackFault(thrown).error !== isSo) throw thrown;
        }
        return done(null);
      });
    },

    async replyPrivately({ place, userId, responseUrl, replaces = false }, message) {
      return answered("reply-privately", async () => {
        const content = rendered(message);
        if (responseUrl !== null) {
          const responded = await respondPrivately(responseUrl, content, replaces, options.timeoutMs);
          if (responded !== null) return responded;
        }
        await withPlainFallback(place.teamId, content, (accepted) =>
          client.chat.postEphemeral({
            channel: place.channelId,
            user: userId,
            ...inThread(place),
            ...accepted,
            parse: "none",
          }),
        );
        return done(null);
      });
    },

    async publishHome(userId, message) {
      return answered("publish-home", async () => {
        const { blocks } = rendered(message);
        await client.views.publish({ user_id: userId, view: { type: "home", blocks } });
        return done(null);
      });
    },

    async openDirectMessage(userId) {
      return answered("direct-message", async () => done({ channelId: await directChannel(client, userId) }));
    },

    async sendFile(userId, { name, content }, message) {
      // Whatever the fault, the caller doesn't repeat it.
      return answered("other", async () => {
        if (!grants(team.identity, "files:write")) return { ok: false, fault: NO_SCOPE };
        const length = Buffer.byteLength(content);
        const asked = await client.files.getUploadURLExternal({ filename: name, length });
        const [url, id] = z.tuple([z.url(), z.string()]).parse([asked.upload_url, asked.file_id]);
        const uploaded = await fetch(url, {
          method: "POST",
          body: content,
          redirect: "manual",
          signal: AbortSignal.timeout(options.timeoutMs),
        });
        if (uploaded.status !== 200) return { ok: false, fault: httpFault(uploaded.status) };
        await client.files.completeUploadExternal({
          files: [{ id, title: name }],
          channel_id: await directChannel(client, userId),
          initial_comment: rendered(message).text,
        });
        return done(null);
      });
    },

    slackTimeMs: () => slackClock.timeMs(),
  };
}

async function directChannel(client: WebClient, userId: string): Promise<string> {
  const opened = await client.conversations.open({ users: userId }).catch((thrown: unknown) => {
    // Without im:write, posting to the person's id still reaches their direct messages.
    if (slackFault(thrown).error === "missing_scope") return { channel: { id: userId } };
    throw thrown;
  });
  return z.string().parse(opened.channel?.id);
}

const NO_SCOPE: NotifierFault = { kind: "credentials", error: "missing_scope" };
/** Until then, no post can be recognized as the app's own. */
const NOT_KNOWN: NotifierFault = { kind: "unknown", error: "identity_unknown" };

function done<T>(value: T): NotifierAnswer<T> {
  return { ok: true, value };
}

function inThread({ threadTs }: Place): { thread_ts?: string } {
  return threadTs === null ? {} : { thread_ts: threadTs };
}

/**
 * Blocks that Slack doesn't accept everywhere, by kind. A workspace may accept one kind and refuse
 * another.
 */
const NEW_BLOCKS = new Map([
  ["plan", "plans or tasks"],
  ["task_card", "plans or tasks"],
  ["context_actions", "feedback buttons"],
]);

/**
 * Our messages stay within Slack's limits. If Slack still refuses the blocks, plainer ones are
 * sent, and then the text alone.
 */
function createFallback(logger: Logger) {
  /** The pairs of team and kind of blocks that were refused. */
  const refused = new Set<string>();

  return async function withPlainFallback<T>(
    teamId: string,
    { text, blocks, plainBlocks }: Rendered,
    send: (content: { text: string; blocks?: Rendered["blocks"] }) => Promise<T>,
  ): Promise<T> {
    const kinds = [...new Set(blocks.flatMap(({ type }) => NEW_BLOCKS.get(type) ?? []))];
    const isPlain = plainBlocks === undefined || kinds.some((kind) => refused.has(`${teamId} ${kind}`));
    try {
      return await send({ text, blocks: isPlain ? (plainBlocks ?? blocks) : blocks });
    } catch (thrown) {
      if (!isContentRefused(thrown)) throw thrown;
      const error = messageOf(thrown);
      if (!isPlain) {
        const answer = await withPlainFallback(teamId, { text, blocks: plainBlocks }, send);
        for (const kind of kinds) refused.add(`${teamId} ${kind}`);
        logger.info({ error }, `Slack takes no ${kinds.join(" or ")} here; sending plain blocks from now on`);
        return answer;
      }
      logger.error({ error }, "Slack refused our blocks; sending the text alone");
      return send({ text });
    }
  };
}

/**
 * Deletes a post that Slack put into the channel because its thread is gone. Resolves to true if it
 * did. It only touches a post that is certainly outside the thread.
 */
async function takeBackOutsideThread(client: WebClient, place: Place, ts: string): Promise<boolean> {
  try {
    if (await isInThread(client, place, ts)) return false;
    await client.chat.delete({ channel: place.channelId, ts });
    return true;
  } catch {
    return false;
  }
}

/**
 * Shows a message to one person alone through a response URL, which accepts five within 30 minutes,
 * even if the app isn't a member. `replaces` puts it in place of the message that the URL came from
 * (docs.slack.dev/interactivity/handling-user-interaction#message_responses). Resolves to null if
 * the URL accepts no more.
 */
async function respondPrivately(
  responseUrl: string,
  content: Rendered,
  replaces: boolean,
  timeoutMs: number,
): Promise<NotifierAnswer<null> | null> {
  if (!URL.canParse(responseUrl)) return null;
  try {
    const response = await fetch(responseUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ response_type: "ephemeral", replace_original: replaces, ...content }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    // Reads to the end, so that the connection is free again.
    await response.text();
    if (response.ok) return done(null);
    if (response.status === 429) {
      const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
      return { ok: false, fault: rateLimited(seconds * 1000) };
    }
    const fault = httpFault(response.status);
    return fault.kind === "not-sent" ? null : { ok: false, fault };
  } catch (thrown) {
    return { ok: false, fault: networkFault(thrown) };
  }
}
