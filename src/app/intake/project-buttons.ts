import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { chooseProject } from "../rules/project-choice.ts";
import { isReply } from "../rules/turn/request.ts";
import { CHOOSE_PROJECT, projectValue, type ProjectValue } from "../messages/actions.ts";
import { refusalText } from "../messages/refusal-message.ts";
import { REPLY_NOT_KEPT } from "../messages/short-answers.ts";
import { acceptOrAsk, notAcceptedMessage } from "./accept-request.ts";
import { rememberProject } from "./choose-project.ts";
import type { IntakeDeps } from "./deps.ts";
import { answerPress, type PressAnswer } from "./press.ts";
import { keptReply } from "./thread-reply.ts";

/** The buttons with the projects, below the question which of them a request is for. */
export function registerProjectButtons(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(CHOOSE_PROJECT, async (press) => {
    const answer = await chosen(deps, projectValue.read(press.action.value), press.body.user.id);
    await press.ack();
    if (answer === REPLY_NOT_KEPT) {
      return void (await press.respond({ text: answer, response_type: "ephemeral", replace_original: true }));
    }
    // After a refusal, such as a limit, the buttons still work.
    if (answer === null) await press.respond({ delete_original: true });
    await answerPress(deps, press, answer);
  });
}

/** Sends a kept request to the project. Returns what its person is told, or null if it was sent. */
async function chosen(deps: IntakeDeps, value: ProjectValue | null, userId: string): Promise<PressAnswer> {
  try {
    const reply = await keptReply(deps, value?.replyId, userId);
    if (value === null || reply?.asksProject !== true) return REPLY_NOT_KEPT;
    const choice = chooseProject(deps, { option: value.project, channelId: "", last: null });
    if (choice.kind === "unknown-project") return refusalText(choice);
    if (choice.kind !== "chosen") return REPLY_NOT_KEPT;
    const { project } = choice;
    const request = { ...reply.request, project, receivedAt: deps.clock.now() };
    const isInThread = isReply(request.threadTs, request.messageTs);
    // A thread whose job would take it isn't asked about.
    const accepted = await acceptOrAsk(deps, request, isInThread ? "separate-job" : "own-job");
    if (accepted.kind === "refused") return refusalText(accepted.refusal);
    if (accepted.kind === "not-allowed") return accepted;
    // A second press changes nothing.
    if (accepted.kind !== "known") await rememberProject(deps, request, project);
    return null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a request");
    return notAcceptedMessage(thrown, deps).text;
  }
}
