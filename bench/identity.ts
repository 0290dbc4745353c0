/**
 * Who and where everything in the bench is; the stand-in for Slack and the requests agree on it.
 */
export const TEAM_ID = "T0BENCH";
export const BOT_USER_ID = "U0BENCHBOT";
export const BOT_ID = "B0BENCH";
export const APP_ID = "A0BENCH";
export const SIGNING_SECRET = "8f742231b10e8888abcd9912345685a5";
export const PROJECT_ID = "docs";

/** The id of the bench's n-th channel. */
export function channelId(n: number): string {
  return `C0BENCH${n}`;
}

/** The prompt of the n-th request; both stand-ins recognize it by {@link numberIn}. */
export function promptOf(n: number): string {
  const fault = "The quick start says npm run dev, but the script is called start since version 4.";
  return `${fault} Please fix page ${n}.`;
}

/**
 * The number of the request that a text (a prompt, as JSON) belongs to; null when it belongs to
 * none.
 */
export function numberIn(text: string): number | null {
  const [, n] = /Please fix page (\d+)\./.exec(text) ?? [];
  return n === undefined ? null : Number(n);
}

/** The pull request of the n-th request's job. */
export function pullRequestOf(n: number): string {
  return `https://github.com/acme/docs/pull/${n + 1}`;
}

/**
 * The number of the request whose pull request a message links to, in a body as it was sent; null
 * when it links to none.
 */
export function linkedIn(body: string): number | null {
  const [, pull] = /pull(?:\/|%2F)(\d+)/i.exec(body) ?? [];
  return pull === undefined ? null : Number(pull) - 1;
}
