import { type Server, createServer } from "node:http";
import { BOT_ID, BOT_USER_ID, linkedIn, TEAM_ID } from "./identity.ts";
import { nowMs } from "../clock/epoch.ts";
import { type Journal, noteFirst } from "./journal.ts";
import { readBodyText } from "./read-body.ts";
import { PostLimit, SLACK_LIMITS, UpdateLimit } from "./rate-limits.ts";

const TEAM_URL = "https://bench.slack.com/";
const SCOPES = [
  "app_mentions:read,channels:history,groups:history,im:history,mpim:history",
  "channels:read,groups:read,im:read,mpim:read",
  "chat:write,commands,im:write,users:read,team:read",
].join(",");

/** Options of {@link createLightSlack}. */
export type LightSlackOptions = {
  /** True if it limits rates as {@link SLACK_LIMITS} says. */
  isLimited: boolean;
  /** True if it answers no calls except {@link ALWAYS_ANSWERED}. */
  isHeld: boolean;
};

/**
 * The call at the start, and the call that says who is a member, for which the request of an
 * unknown person waits.
 */
const ALWAYS_ANSWERED: ReadonlySet<string> = new Set(["auth.test", "users.info"]);

type Answer = Record<string, unknown> | "ratelimited" | "not_authorized" | "unknown";

/**
 * Creates the part of the Web API that the app needs for its work. It checks nothing and keeps
 * nothing, because its own CPU time would distort the bench's figures on a machine with two cores:
 * the Slack of `world/slack`, which checks everything, takes three times as long for a message. The
 * tests use that one.
 */
export function createLightSlack(journal: Journal, { isLimited, isHeld }: LightSlackOptions): Server {
  const postLimit = new PostLimit();
  const updateLimit = new UpdateLimit();
  let stamps = 0;

  function timestamp(): string {
    stamps += 1;
    return `${Math.floor(Date.now() / 1000)}.${String(stamps % 1_000_000).padStart(6, "0")}`;
  }

  function post(args: URLSearchParams, body: string): Answer {
    const channel = args.get("channel") ?? "";
    if (isLimited && !postLimit.take(channel, nowMs())) {
      journal.postsRefused += 1;
      return "ratelimited";
    }
    journal.posts += 1;
    const n = linkedIn(body);
    if (n !== null) noteFirst(journal.posted, n, nowMs());
    return posted(args, channel, timestamp());
  }

  function update(args: URLSearchParams): Answer {
    if (isLimited && !updateLimit.take(nowMs())) {
      journal.updatesRefused += 1;
      return "ratelimited";
    }
    journal.updates += 1;
    return posted(args, args.get("channel") ?? "", args.get("ts") ?? "");
  }

  function answer(method: string, body: string): Answer {
    const args = new URLSearchParams(body);
    switch (method) {
      case "chat.postMessage":
        return post(args, body);
      case "chat.update":
        return update(args);
      case "chat.postEphemeral":
        return { message_ts: timestamp() };
      case "auth.test":
        return { url: TEAM_URL, team: "Bench", user: "docs-agent", team_id: TEAM_ID, ...BOT };
      case "chat.getPermalink":
        return { permalink: `${TEAM_URL}archives/${args.get("channel")}/p${args.get("message_ts")}` };
      case "conversations.info":
        return { channel: channelOf(args.get("channel") ?? "") };
      case "conversations.open":
        return { channel: { id: `D0${args.get("users")}` } };
      case "conversations.replies":
      case "conversations.history":
        return { messages: [], has_more: false, response_metadata: { next_cursor: "" } };
      case "users.info":
        return { user: userOf(args.get("user") ?? "") };
      case "agents.sessions.setStatus":
        return "not_authorized";
      case "assistant.threads.setStatus":
        return {};
      case "team.info":
        return { team: { id: TEAM_ID, name: "Bench", domain: "bench", url: TEAM_URL } };
      default:
        return "unknown";
    }
  }

  return createServer((request, response) => {
    response.on("error", () => response.destroy());
    const method = (request.url ?? "").replace(/^.*\//, "");
    if (isHeld && !ALWAYS_ANSWERED.has(method)) {
      request.resume();
      return;
    }
    readBodyText(request, (body) => {
      const said = answer(method, body);
      if (said === "ratelimited") {
        response
          .writeHead(429, { "retry-after": String(SLACK_LIMITS.retryAfterS), ...JSON_HEADERS })
          .end('{"ok":false,"error":"ratelimited"}');
        return;
      }
      if (said === "unknown") journal.unknownCalls.add(method);
      const error = said === "unknown" ? "unknown_method" : said;
      const json = typeof error === "string" ? { ok: false, error } : { ok: true, ...error };
      response.writeHead(200, { "x-oauth-scopes": SCOPES, ...JSON_HEADERS }).end(JSON.stringify(json));
    });
  });
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };
const BOT = { user_id: BOT_USER_ID, bot_id: BOT_ID, is_enterprise_install: false };

function posted(args: URLSearchParams, channel: string, ts: string): Record<string, unknown> {
  const threadTs = args.get("thread_ts");
  return {
    channel,
    ts,
    text: args.get("text") ?? "",
    message: {
      type: "message",
      user: BOT_USER_ID,
      bot_id: BOT_ID,
      team: TEAM_ID,
      ts,
      text: args.get("text") ?? "",
      ...(threadTs !== null && { thread_ts: threadTs }),
    },
  };
}

function channelOf(id: string): Record<string, unknown> {
  return {
    id,
    name: id.toLowerCase(),
    is_channel: true,
    is_private: false,
    is_archived: false,
    is_member: true,
  };
}

function userOf(id: string): Record<string, unknown> {
  const name = id.toLowerCase();
  return {
    id,
    team_id: TEAM_ID,
    name,
    real_name: name,
    deleted: false,
    is_bot: false,
    is_restricted: false,
    is_ultra_restricted: false,
    profile: { real_name: name, display_name: name, team: TEAM_ID },
  };
}
