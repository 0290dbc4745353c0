import type { App, BlockAction, ButtonAction, FeedbackButtonsAction } from "@slack/bolt";
import { noteVote, votesOf } from "../core/feedback.ts";
import { FEEDBACK, FEEDBACK_NO, FEEDBACK_YES, feedbackValue } from "../replies/actions.ts";
import type { FeedbackValue } from "../replies/actions.ts";
import { turnWrites } from "../tasks/turn-writes.ts";
import { THANKS } from "../replies/short-answers.ts";
import type { IntakeDeps } from "./deps.ts";
import { takePress } from "./press.ts";

/** Whether an outcome was helpful: each person's last vote is kept with the turn, and goes to the log. */
export function registerFeedback(app: App, deps: IntakeDeps): void {
  for (const actionId of [FEEDBACK, FEEDBACK_YES, FEEDBACK_NO]) {
    app.action<BlockAction<ButtonAction | FeedbackButtonsAction>>(actionId, (press) =>
      takePress(deps, press, feedbackValue.read(press.action.value), (voted) =>
        vote(deps, voted, press.body.user.id),
      ),
    );
  }
}

/** What to say; null: that vote is known. */
async function vote(
  deps: IntakeDeps,
  { turnId, vote }: FeedbackValue,
  userId: string,
): Promise<string | null> {
  const noted = await deps.queue.commit((read) => {
    const turn = read("turn", turnId);
    const voted = turn === undefined ? undefined : noteVote(turn, userId, vote);
    if (turn === undefined || voted === turn) return { value: null };
    return { writes: voted === undefined ? [] : turnWrites(deps, read, voted), value: voted };
  });
  if (noted === null || noted === undefined) return null;
  deps.logger.info(
    { turn: turnId, job_id: noted.job?.id, project: noted.request.project.name, vote, votes: votesOf(noted) },
    "feedback",
  );
  return THANKS;
}
