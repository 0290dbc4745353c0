import type { ActionsBlock, Button } from "@slack/types";
import type { Turn } from "../core/turn.ts";
import { STOP_TURN, buttonValue } from "./actions.ts";
import { labelled } from "./blocks.ts";

/** What can be done with the turns that a status message shows, the one it belongs to first; nothing once they have ended. */
export function statusActions(shown: readonly [Turn, ...Turn[]]): ActionsBlock[] {
  const isStoppable = shown.some(({ stage, stop }) => stage.name !== "ended" && stop === undefined);
  return isStoppable ? [{ type: "actions", elements: [stopButton(shown[0])] }] : [];
}

function stopButton({ id, watch }: Turn): Button {
  return {
    ...labelled(STOP_TURN, "Stop"),
    value: buttonValue({ turnId: id, watch }),
    confirm: {
      title: { type: "plain_text", text: "Stop this request?" },
      text: {
        type: "plain_text",
        text: "If the agent can't be stopped, you only get no more updates here.",
      },
      confirm: { type: "plain_text", text: "Stop" },
      deny: { type: "plain_text", text: "Cancel" },
      style: "danger",
    },
  };
}
