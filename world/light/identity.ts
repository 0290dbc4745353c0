/**
 * The team of the bench's workspace. The light stand-ins and the bench's requests use these ids.
 */
export const TEAM_ID = "T0BENCH";
/** The app's user in the workspace. */
export const BOT_USER_ID = "U0BENCHBOT";
/** The app's bot id. */
export const BOT_ID = "B0BENCH";
/** The app's id. */
export const APP_ID = "A0BENCH";
/** The secret that signs the requests of the stand-in for Slack. */
export const SIGNING_SECRET = "8f742231b10e8888abcd9912345685a5";
/** The app's only project. */
export const PROJECT_ID = "docs";

/** Returns the id of the bench's n-th channel. */
export function channelId(n: number): string {
  return `C0BENCH${n}`;
}

/** Returns the prompt of the n-th request. Both stand-ins recognize it: {@link requestNumberIn}. */
export function promptOf(n: number): string {
  const fault = "The quick start says npm run dev, but the script is called start since version 4.";
  return `${fault} Please fix page ${n}.`;
}

/** Returns the number of the request that a text (a prompt, as JSON) belongs to, or null. */
export function requestNumberIn(text: string): number | null {
  const [, n] = /Please fix page (\d+)\./.exec(text) ?? [];
  return n === undefined ? null : Number(n);
}

/** Returns the pull request of the n-th request's job. */
export function pullRequestOf(n: number): string {
  return `https://github.com/acme/docs/pull/${n + 1}`;
}

/**
 * Returns the number of the request whose pull request a message links to, or null. `body` is the
 * message as it was sent.
 */
export function linkedIn(body: string): number | null {
  const [, pull] = /pull(?:\/|%2F)(\d+)/i.exec(body) ?? [];
  return pull === undefined ? null : Number(pull) - 1;
}
