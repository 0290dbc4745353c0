import type { WorkStatus } from "../rules/ports/notifier.ts";
import { keepNewest } from "../../shared/store/keep-newest.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackDeps } from "./slack-team.ts";

/** Slack puts the app's name before it. */
const WORKING = "is working on the docs";
/**
 * Slack removes the status after two minutes, and when the app posts in the thread:
 * docs.slack.dev/reference/methods/assistant.threads.setStatus
 */
const RENEW_MS = 100_000;
/** Slack says only that special rates apply. This is tier 3, stricter than any that it names. */
const GAP_MS = 1_334;
const THREADS_MAX = 1_000;

/**
 * Slack's own "is working" indicator, which works in channels too with `chat:write`:
 * docs.slack.dev/changelog/2026/03/05/set-status-scope-update. Each process remembers what it has
 * shown. A team that refuses isn't asked again.
 */
export function createSlackWorkStatus({ team, clock, logger }: SlackDeps): WorkStatus {
  const absent = new Set<string>();
  /** When Slack may be called again, by team. */
  const openAt = new Map<string, number>();
  /** When it was last shown, by thread. */
  const shownAt = new Map<string, number>();

  async function send(thread: Parameters<WorkStatus["show"]>[0]): Promise<void> {
    const { teamId, channelId, threadTs } = thread;
    try {
      await team.client.assistant.threads.setStatus({
        channel_id: channelId,
        thread_ts: threadTs,
        status: WORKING,
        // Without these, Slack invents steps of its own in channels.
        loading_messages: [WORKING],
      });
    } catch (thrown) {
      const { kind, error, retryAfterMs } = slackFault(thrown, "show-work");
      if (retryAfterMs !== undefined) openAt.set(teamId, clock.monotonicMs() + retryAfterMs);
      if ((kind !== "place" && kind !== "credentials") || absent.has(teamId)) return;
      absent.add(teamId);
      logger.info({ error }, "Slack shows no agent's status here; only the messages tell");
    }
  }

  return {
    show(thread) {
      const { teamId, channelId, threadTs } = thread;
      const id = `${teamId} ${channelId} ${threadTs}`;
      const now = clock.monotonicMs();
      const isFresh = now - (shownAt.get(id) ?? -Infinity) < RENEW_MS;
      if (absent.has(teamId) || isFresh || now < (openAt.get(teamId) ?? 0)) return;
      openAt.set(teamId, now + GAP_MS);
      keepNewest(shownAt, id, now, THREADS_MAX);
      void send(thread);
    },
  };
}
