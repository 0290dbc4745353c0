import { WebAPIPlatformError } from "@slack/web-api";
import type { WorkStatus } from "../rules/ports/notifier.ts";
import { threadId } from "../rules/records.ts";
import type { MessageRef } from "../rules/turn/request.ts";
import { keepNewest } from "../../shared/store/keep-newest.ts";
import { NOT_AN_AGENT } from "./slack-error-codes.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackDeps } from "./slack-team.ts";

/** Slack puts the app's name before it. */
const WORKING = "is working on the docs";
/**
 * Slack removes the indicator after two minutes, and when the app posts in the thread:
 * docs.slack.dev/reference/methods/assistant.threads.setStatus
 */
const RENEW_MS = 100_000;
/** Slack says only that special rates apply. This is tier 3, stricter than any that it names. */
const GAP_MS = 1_334;
const THREADS_MAX = 1_000;
/** Slack's warning that its own Stop does nothing, and is drawn without a button. */
const NO_STOP = "missing_agent_session_stopped_event_subscription";

/**
 * Slack's ways to show that an app works. Sessions are for apps that are declared as agents
 * (docs.slack.dev/ai/agent-sessions), which only an attempt tells. The "is working" indicator is
 * for all others. It works in channels too with `chat:write`:
 * docs.slack.dev/changelog/2026/03/05/set-status-scope-update. Each process remembers what Slack
 * refused, and what it has shown. What a team refuses isn't asked for again.
 */
export function createSlackWorkStatus({ team, clock, logger }: SlackDeps): WorkStatus {
  const ways = new Map<string, "session" | "indicator">();
  /** Threads whose session Slack refuses, although others have one. */
  const refused = new Map<string, true>();
  let isWarned = false;
  /** Teams that refuse the indicator. */
  const absent = new Set<string>();
  /** When Slack may be called again, by team. */
  const openAt = new Map<string, number>();
  /** When the indicator was last shown, by thread. */
  const shownAt = new Map<string, number>();

  async function send({ teamId, channelId, ts }: MessageRef): Promise<void> {
    try {
      await team.client.assistant.threads.setStatus({
        channel_id: channelId,
        thread_ts: ts,
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

  function warnOnce({ response_metadata: { warnings = [] } = {} }: Answer): void {
    if (isWarned || !warnings.includes(NO_STOP)) return;
    isWarned = true;
    logger.warn(
      { warning: NO_STOP },
      "Slack shows no Stop button: subscribe to the event agent_session_stopped in your Slack app's settings",
    );
  }

  return {
    wayIn(thread) {
      return refused.has(threadId(thread)) ? "indicator" : ways.get(thread.teamId);
    },

    async setSession(thread, status, hadOne) {
      const { teamId, channelId, ts } = thread;
      if (ways.get(teamId) === "indicator") return { ok: false, fault: NO_SESSIONS };
      const id = threadId(thread);
      try {
        warnOnce(
          await team.client.agents.sessions.setStatus({ channel_id: channelId, thread_ts: ts, status }),
        );
        ways.set(teamId, "session");
        refused.delete(id);
        return { ok: true, value: null };
      } catch (thrown) {
        const fault = slackFault(thrown, "set-session");
        const isOfTeam = fault.kind === "credentials" || NOT_AN_AGENT.has(fault.error);
        if (isOfTeam && !hadOne) {
          ways.set(teamId, "indicator");
          logger.info({ error: fault.error }, "Slack has no agent sessions for this app");
        } else if (fault.kind !== "not-sent" && thrown instanceof WebAPIPlatformError) {
          keepNewest(refused, id, true, THREADS_MAX);
        }
        return { ok: false, fault };
      }
    },

    show(thread) {
      const { teamId } = thread;
      const id = threadId(thread);
      const now = clock.monotonicMs();
      const isFresh = now - (shownAt.get(id) ?? -Infinity) < RENEW_MS;
      if (absent.has(teamId) || isFresh || now < (openAt.get(teamId) ?? 0)) return;
      openAt.set(teamId, now + GAP_MS);
      keepNewest(shownAt, id, now, THREADS_MAX);
      void send(thread);
    },
  };
}

/** The part of Slack's answer that has its warnings. */
type Answer = { response_metadata?: { warnings?: string[] } };

const NO_SESSIONS = { kind: "place", error: "no_sessions" } as const;
