import { LINK_MAX } from "./limits.ts";
import { escapeMrkdwn } from "./mrkdwn.ts";

/** A link that is safe to show as one. `label`: `org/repo#number` where the URL has that shape, else the host. */
export type PullRequestLink = { url: string; label: string };

const PLAIN_URL = /^https?:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?(?:[/?#][^\s<>|"'`\\]*)?$/i;
/** Control characters, direction marks, invisible ones, halves of pairs, any script's white space. */
const UNSEEN = /[\p{C}\p{Z}]/u;
const PULL_PATH = /^\/([\w.-]{1,100})\/([\w.-]{1,100})\/pull\/(\d{1,12})\/?$/;

/**
 * The link, if `prLink` is an https URL on a plain host: no user info, no other script's letters in the host, nothing that
 * could end a link in mrkdwn, nothing invisible. Otherwise null, and the text is to be shown as text. `httpOrigins`: where
 * http will do, because the operator said so.
 */
export function pullRequestLink(prLink: string, httpOrigins: readonly string[] = []): PullRequestLink | null {
  if (escapeMrkdwn(prLink).length > LINK_MAX || UNSEEN.test(prLink)) return null;
  if (!PLAIN_URL.test(prLink) || !URL.canParse(prLink)) return null;
  const url = new URL(prLink);
  if (url.protocol !== "https:" && !httpOrigins.includes(url.origin)) return null;
  const pull = PULL_PATH.exec(url.pathname);
  return { url: prLink, label: pull === null ? url.hostname : `${pull[1]}/${pull[2]}#${pull[3]}` };
}
