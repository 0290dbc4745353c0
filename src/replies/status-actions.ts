import type { ActionsBlock, Button, Overflow } from "@slack/types";
import type { Turn } from "../core/turn.ts";
import { FOLLOW_MENU, STOP_TURN, buttonValue, followValue } from "./actions.ts";
import type { FollowValue } from "./actions.ts";
import { labelled } from "./blocks.ts";
import { OPTION_VALUE_MAX } from "./limits.ts";

/** What can be done with the turns that a status message shows, the one it belongs to first; nothing once they have ended. */
export function statusActions(shown: readonly [Turn, ...Turn[]]): ActionsBlock[] {
  const open = shown.filter(({ stage }) => stage.name !== "ended");
  const [host] = shown;
  const elements = [
    ...(open.some(({ stop }) => stop === undefined) ? [stopButton(host)] : []),
    ...(open.length > 0 ? followMenu(host) : []),
  ];
  return elements.length === 0 ? [] : [{ type: "actions", elements }];
}

/** Stops the turn, and what its status message shows besides. */
export function stopButton({ id, watch }: Turn): Button {
  return {
    ...labelled(STOP_TURN, "Stop"),
    value: buttonValue.write({ turnId: id, watch }),
    confirm: {
      title: { type: "plain_text", text: "Stop this request?" },
      text: {
        type: "plain_text",
        text: "If the agent can't be stopped, only the updates here stop.",
      },
      confirm: { type: "plain_text", text: "Stop" },
      deny: { type: "plain_text", text: "Cancel" },
      style: "danger",
    },
  };
}

function followMenu({ id: turnId }: Turn): Overflow[] {
  const options = [
    option("Mention me in the result", { turnId, choice: "follow" }),
    option("Don't mention me in this thread", { turnId, choice: "mute" }),
  ];
  // An id is made of what Slack sent, and may be longer than it ever was.
  const isTooLong = options.some(({ value }) => value.length > OPTION_VALUE_MAX);
  return isTooLong ? [] : [{ type: "overflow", action_id: FOLLOW_MENU, options }];
}

function option(text: string, value: FollowValue) {
  return { text: { type: "plain_text" as const, text }, value: followValue.write(value) };
}
