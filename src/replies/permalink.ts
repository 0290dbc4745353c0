/** The permalink as Slack builds it, for messages in channels that the app may not look into. */
export function builtPermalink(
  teamUrl: string,
  channelId: string,
  ts: string,
  threadTs: string | null,
): string | null {
  if (!URL.canParse(teamUrl)) return null;
  const url = new URL(`archives/${channelId}/p${ts.replace(".", "")}`, teamUrl);
  if (threadTs !== null && threadTs !== ts) {
    url.searchParams.set("thread_ts", threadTs);
    url.searchParams.set("cid", channelId);
  }
  return url.href;
}
