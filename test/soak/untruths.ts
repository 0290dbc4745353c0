import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";
import { nameOf, turnOf, turnOfKey } from "./ledger.ts";

type Done = Pick<JobServiceSide, "creates" | "messages" | "cancels" | "answers">;

const HAS_FINISHED = /Your pull request is ready|No changes made|The agent updated/;
/** Matches the text of an answer that the agent may not have got. */
const IN_DOUBT = /Too late|can't tell whether the agent got|couldn't|didn't/;
/** The choices that the job service of the rounds offers. */
const CHOICES: Record<string, string> = { Install: "1", FAQ: "2" };

/**
 * Returns false statements in the app's posts at the end: stops and answers that didn't happen, and
 * buttons without a meaning.
 */
export function untruths(slack: SlackSide, posts: readonly SlackMessage[], done: Done): string[] {
  const sent = sentTurns(done);
  return posts.flatMap((post) => {
    const turn = sent.get(turnOf(post));
    const text = slack.visibleText(post);
    const place = `${nameOf(post)} of ${turnOf(post)} in ${post.channel} at ${post.ts}`;
    return untruthsOf(post, text, turn, done).map((what) => `${place} ${what}: ${JSON.stringify(text)}`);
  });
}

function untruthsOf(post: SlackMessage, text: string, turn: string | undefined, done: Done): string[] {
  const name = nameOf(post);
  const has = (actionId: string) => JSON.stringify(post.blocks ?? []).includes(`"action_id":"${actionId}`);
  const isCanceled = turn !== undefined && done.cancels.includes(turn);
  if (name === "status") {
    return [
      ...(has("stop_turn") || has("follow_menu") ? ["still offers to stop or to follow"] : []),
      ...(/Stopping…|Waiting for an answer/.test(text) ? ["shows a state that is over"] : []),
    ];
  }
  if (name.startsWith("question-")) {
    const answered = /answered: (.*)$/m.exec(text)?.[1];
    const isTaken = done.answers.some(
      ({ jobId, answer }) =>
        turn?.startsWith(`${jobId}/`) === true && answer === (CHOICES[answered ?? ""] ?? answered),
    );
    return [
      ...(/"action_id":"answer_/.test(JSON.stringify(post.blocks ?? [])) ? ["can still be answered"] : []),
      ...(answered !== undefined && !isTaken && !IN_DOUBT.test(text)
        ? ["has an answer that the agent never got"]
        : []),
    ];
  }
  if (!name.startsWith("outcome-")) return [];
  return [
    ...(text.includes("stopped the agent.") && !isCanceled ? ["says it was stopped, and nothing was"] : []),
    ...(text.includes("before it started") && turn !== undefined
      ? ["says it never started, and it did"]
      : []),
    ...(HAS_FINISHED.test(text) && isCanceled ? ["says it has finished, and it was canceled"] : []),
  ];
}

/** Returns the turns as the job service knows them: the job, and the number in it. */
function sentTurns({ creates, messages }: Done): Map<string, string> {
  const sent = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { jobId, idempotencyKey } of [...creates, ...messages]) {
    const number = (counts.get(jobId) ?? 0) + 1;
    counts.set(jobId, number);
    sent.set(turnOfKey(idempotencyKey ?? ""), `${jobId}/${number}`);
  }
  return sent;
}
