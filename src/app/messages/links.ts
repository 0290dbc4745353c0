import { LINK_MAX, labeled, section, NAME_MAX, type TeamView } from "./blocks.ts";
import { escapeMrkdwn, cutEscaped } from "./mrkdwn.ts";
import { cut } from "../../shared/text/text.ts";
import type { KnownBlock } from "@slack/types";
import { isReply, type Request } from "../rules/turn/request.ts";
import { ACTIONS } from "./actions.ts";

/** Builds a permalink like Slack's, for channels that the app may not read. */
export function builtPermalink(
  teamUrl: string,
  { channelId, ts, threadTs }: { channelId: string; ts: string; threadTs: string | null },
): string | null {
  if (!URL.canParse(teamUrl)) return null;
  const url = new URL(`archives/${channelId}/p${ts.replace(".", "")}`, teamUrl);
  if (isReply(threadTs, ts)) {
    url.searchParams.set("thread_ts", threadTs);
    url.searchParams.set("cid", channelId);
  }
  return url.href;
}

/**
 * A link that is safe to show. `label` is `org/repo#number` if the URL has that shape, otherwise
 * the host.
 */
export type PullRequestLink = { url: string; label: string };

const PLAIN_URL = /^https?:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?(?:[/?#][^\s<>|"'`\\]*)?$/i;
/**
 * Control characters, direction marks, invisible characters, lone surrogates, and white space of
 * any script.
 */
const UNSEEN = /[\p{C}\p{Z}]/u;
const PULL_PATH = /^\/([\w.-]{1,100})\/([\w.-]{1,100})\/pull\/(\d{1,12})\/?$/;

/**
 * The link, if `prLink` is an https URL on a plain host: no user info, no letters of other scripts
 * in the host, nothing that could end a link in mrkdwn, nothing invisible. Otherwise null, and the
 * text must be shown as text. `httpOrigins` are origins for which the operator allows http.
 */
export function pullRequestLink(
  prLink: string | null,
  httpOrigins: readonly string[] = [],
): PullRequestLink | null {
  if (prLink === null || escapeMrkdwn(prLink).length > LINK_MAX || UNSEEN.test(prLink)) return null;
  if (!PLAIN_URL.test(prLink) || !URL.canParse(prLink)) return null;
  const url = new URL(prLink);
  if (url.protocol !== "https:" && !httpOrigins.includes(url.origin)) return null;
  const pull = PULL_PATH.exec(url.pathname);
  return { url: prLink, label: pull === null ? url.hostname : `${pull[1]}/${pull[2]}#${pull[3]}` };
}

/** A page's link, as safe as a pull request's. Its label is the address without its scheme. */
export function pageLink(address: string, httpOrigins: readonly string[] = []): PullRequestLink | null {
  const link = pullRequestLink(address, httpOrigins);
  return link && { ...link, label: cut(link.url.replace(/^https?:\/\/|\/$/gi, ""), NAME_MAX) };
}

/** A channel's name in mrkdwn. Direct messages, whose ids begin with D, have no name. */
export function placeName(channelId: string): string {
  return channelId.startsWith("D") ? "that conversation" : `<#${channelId}>`;
}

/**
 * Explains why a message is in a direct message instead of where it was requested, with a button to
 * the message that asked, if there is one.
 */
export function movedBlocks(
  request: Request,
  error: string | null,
  { botName, teamUrl }: TeamView,
): KnownBlock[] {
  if (error === null) return [];
  const block = section(movedText(request.channelId, error, botName));
  const url = IS_GONE.has(error) ? null : urlOfMessage(request, teamUrl);
  if (url === null) return [block];
  return [{ ...block, accessory: { ...labeled(ACTIONS.viewMessage, "View message"), url } }];
}

const IS_GONE: ReadonlySet<string> = new Set(["thread_not_found", "message_not_found"]);

/** Null for a command, which has no message. */
function urlOfMessage({ quoted, channelId, messageTs, threadTs }: Request, teamUrl: string): string | null {
  if (quoted !== null) return builtPermalink(teamUrl, quoted);
  return messageTs === undefined ? null : builtPermalink(teamUrl, { channelId, ts: messageTs, threadTs });
}

/** True if inviting the app would help. Nobody can invite it to other people's direct messages. */
export function canInvite(channelId: string, error: string): boolean {
  return (error === "not_in_channel" || error === "channel_not_found") && !channelId.startsWith("D");
}

/** The reason in mrkdwn, and what to do about it. */
function movedText(channelId: string, error: string, botName: string): string {
  const where = placeName(channelId);
  if (canInvite(channelId, error)) {
    return (
      `I'm not in ${where}, so I'm replying here. To get replies there, type \`/invite ` +
      `@${cutEscaped(botName, NAME_MAX)}\` in that channel.`
    );
  }
  if (error === "is_archived") return `${where} is archived, so I'm replying here.`;
  if (IS_GONE.has(error)) return `The thread in ${where} was deleted, so I'm replying here.`;
  return `I can't post in ${where}, so I'm replying here.`;
}
