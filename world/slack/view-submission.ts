import * as z from "zod";
import type { DeliveryOutcome } from "./deliver.ts";
import { SlackRefusal } from "./refusal.ts";
import { parseView } from "./validate-blocks.ts";
import type { OpenView, Views } from "./views.ts";
import { jsonOf } from "../../src/shared/text/text.ts";

const SubmissionAck = z.discriminatedUnion("response_action", [
  z.object({ response_action: z.literal("errors"), errors: z.record(z.string(), z.string()) }),
  z.object({ response_action: z.literal("update"), view: z.unknown().optional() }),
  z.object({ response_action: z.literal("push"), view: z.unknown().optional() }),
  z.object({ response_action: z.literal("clear") }),
]);

const TROUBLE = "We had some trouble connecting. Try again?";

/**
 * Changes the modal as the app's answer says. See
 * https://docs.slack.dev/surfaces/modals#response_actions
 */
export function settleSubmission(outcome: DeliveryOutcome, open: OpenView, views: Views): void {
  if (outcome.failure !== undefined) return views.showFailure(open, TROUBLE);
  const json = jsonOf(outcome.body);
  const isEmpty = outcome.body === "" || (typeof json === "object" && Object.keys(json ?? {}).length === 0);
  if (isEmpty) return views.close(open);
  const ack = SubmissionAck.safeParse(json);
  if (!ack.success) return views.showFailure(open, TROUBLE);
  try {
    act(ack.data, open, views);
  } catch (thrown) {
    if (!(thrown instanceof SlackRefusal)) throw thrown;
    views.showFailure(open, TROUBLE);
  }
}

function act(ack: z.infer<typeof SubmissionAck>, open: OpenView, views: Views): void {
  switch (ack.response_action) {
    case "errors":
      return showErrors(ack.errors, open, views);
    case "update":
      return views.update(open, parseView(ack.view));
    case "push":
      views.push(open.user, parseView(ack.view));
      return;
    case "clear":
      return views.closeAll(open.user);
  }
}

/**
 * Shows errors below input blocks. For other blocks, Slack shows only that something went wrong.
 */
function showErrors(errors: Record<string, string>, open: OpenView, views: Views): void {
  const inputs = open.view.blocks.filter((block) => block.type === "input").map((block) => block.block_id);
  const areShown = Object.keys(errors).every((blockId) => inputs.includes(blockId));
  if (areShown) views.showErrors(open, errors);
  else views.showFailure(open, TROUBLE);
}
