import type { SlackMessage } from "../../world/slack/index.ts";
import { withoutStop } from "./status-buttons.ts";
import { ANA, BEN, DOCS } from "./world.ts";
import type { World } from "./world.ts";

/** The pull request in these tests. */
export const PR = "https://github.com/acme/docs/pull/7";
/** The link to the pull request, as a person reads it. */
export const LINK = `acme/docs#7 (${PR})`;
/** A minute in milliseconds. */
export const MINUTE_MS = 60_000;
/** The message in the thread after a follow-up was sent. */
export const SENT = "🔧 Follow-up sent to the agent.";

/** Sends a command as Ana. Resolves to the thread's root as soon as it is posted. */
export async function ask(world: World, text = "fix the install page"): Promise<SlackMessage> {
  const before = world.service.creates.length;
  await world.slack.person(ANA).command({ channel: DOCS, text });
  await world.until(() => world.service.creates.length > before);
  return world.until(() =>
    world.slack.messages(DOCS).findLast(({ thread_ts, ts }) => (thread_ts ?? ts) === ts),
  );
}

/** Sends a command as in {@link ask}, and waits until its job has ended with a pull request. */
export async function done(world: World): Promise<SlackMessage> {
  const root = await ask(world);
  world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
  await world.until(() => world.replies(DOCS, root.ts).length === 1);
  await world.until(() => world.read(DOCS)[0]?.includes("✅"));
  return root;
}

/** A service's report of a turn that ended with the pull request. */
export function reportOfLink(summary = "Fixed it.") {
  return {
    summary,
    pullRequest: {
      url: PR,
      number: 7,
      title: "Correct the install command",
      state: "open" as const,
      files: 3,
      additions: 12,
      deletions: 4,
      headRef: "docs-agent/job_1",
      headSha: "0123456789abcdef0123456789abcdef01234567",
    },
  };
}

/** Returns the job of the n-th create. */
export function jobOf(world: World, n = -1): string {
  return world.service.creates.at(n)?.jobId ?? "";
}

/** Mentions the app in a thread. */
export async function reply(
  world: World,
  root: SlackMessage,
  text: string,
  who = BEN,
): Promise<SlackMessage> {
  const { message, status } = await world.slack
    .person(who)
    .mention({ channel: DOCS, threadTs: root.ts, text });
  if (status !== 200) throw new Error(`the app answered ${status}`);
  return message;
}

/** Returns the app's messages in a thread, line by line, without the root. */
export function said(world: World, root: SlackMessage): string[][] {
  return world
    .replies(DOCS, root.ts)
    .map((message) => withoutStop(world.slack.visibleText(message)).split("\n"));
}

/** Returns the words of a request: the first line of a prompt, without its quotes. */
export function askedFor({ prompt }: { prompt: string }): string {
  return prompt.split("\n", 1)[0] ?? "";
}
