import { expect, it } from "vitest";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import { onRequests } from "../support/request-boundaries.ts";
import { sampled } from "../support/sampled.ts";
import { untilTaken } from "../support/taken.ts";
import { LINK, PR } from "../support/threads.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";
import type { Boundary, OpenKillSubject } from "./kill-at-every-step.ts";

const THREAD = [
  `@Ana requested a docs change:\nfix the quickstart\n🎉 Merged: ${LINK}`,
  expect.stringContaining("✅ @Ana Your pull request is ready"),
  `✏️ @Ana maria and tom ask for changes in ${LINK}:\nmaria\nThe FAQ, too.\ntom\nAnd the glossary.`,
  `🎉 @Ana ${LINK} is merged.`,
];

type Ending = { thread: string[]; session: string | null; deadTasks: number };

/**
 * Runs a request whose pull request is reviewed and merged. The process is killed at the boundary,
 * unless it is null, and started again.
 */
async function runWithDeath(
  open: OpenKillSubject,
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide({ isAgent: true }));
  const service = resources.use(await startJobServiceSide({ level: 1 }));
  service.script.completeAfterPolls(2, { prLink: PR });
  service.script.onCreate(({ id }) => {
    const state = "changes-requested" as const;
    const review = { author: "maria", words: "The FAQ, too.", state, headSha: null };
    const at = new Date(Date.now() + 60_000).toISOString();
    const reviews = [
      { ...review, id: "1", at },
      { ...review, id: "2", at, author: "tom", words: "And the glossary." },
    ];
    service.follow(id, { url: PR, state: "merged", reviews });
  });
  const env = { ...environment(slack, service), POLL_MIN_MS: "200", POLL_MAX_MS: "500" };
  const subject = resources.use(await open(env, boundary, onStep));
  const { first } = subject;
  onRequests({ slack, service }, boundary, onStep, () => first.kill());
  slack.setAppUrl(`${await first.ready()}/slack/events`);
  const asked = await slack.person(ANA).command({ channel: DOCS, text: "fix the quickstart" });
  await untilTaken(slack, asked, () => first.hasExited);
  await subject.quiet(first);
  if (boundary !== null) {
    // Writes at the same time may share a commit, so a run may have fewer writes. Then it dies at
    // its end.
    if (!first.hasExited) await first.kill();
    const second = resources.use(await subject.startSecond());
    slack.setAppUrl(`${await second.ready()}/slack/events`);
    await subject.quiet(second);
  }
  const posts = slack.messages(DOCS);
  const thread = posts.map((message) => slack.visibleText(message));
  const session = slack.workspace.threadStatuses.session(DOCS, posts[0]?.ts ?? "");
  return { thread, session, deadTasks: await subject.deadTasks() };
}

/**
 * Tests the news of a pull request in a thread. The app is killed at each {@link sampled} step from
 * the job's end on.
 */
export async function describeKillInNews(open: OpenKillSubject): Promise<void> {
  const steps: Boundary[] = [];
  const undisturbed = await runWithDeath(open, null, (step) => steps.push(step));
  // The second poll shows the end, and all the news.
  const end = steps.findIndex(({ what, number }) => what === "job service get" && number === 2);
  const lastWrite = steps.findLast(({ at }) => at === "write");
  if (lastWrite?.phase === "before") steps.push({ ...lastWrite, phase: "after" });

  it("tells each news once, in order", () => {
    expect(undisturbed).toEqual({ thread: THREAD, session: "closed", deadTasks: 0 });
    expect(steps.slice(end).filter(({ what }) => what === "chat.postMessage").length).toBeGreaterThanOrEqual(
      6,
    );
  });

  it.concurrent.each(sampled(steps.slice(end)))(
    "killed $phase $at $number ($what), the thread reads the same",
    { timeout: 120_000 },
    async (boundary) => {
      expect(await runWithDeath(open, boundary)).toEqual({ ...undisturbed, thread: THREAD });
    },
  );
}
