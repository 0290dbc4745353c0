import type { App } from "@slack/bolt";
import type { ModalView } from "@slack/types";

/** A modal with a text input and a menu, both required. */
export const modal: ModalView = {
  type: "modal",
  callback_id: "fix",
  private_metadata: "thread",
  notify_on_close: true,
  title: { type: "plain_text", text: "Fix these docs" },
  submit: { type: "plain_text", text: "Send" },
  blocks: [
    {
      type: "input",
      block_id: "prompt",
      label: { type: "plain_text", text: "What is wrong?" },
      element: { type: "plain_text_input", action_id: "text", max_length: 20 },
    },
    {
      type: "input",
      block_id: "project",
      label: { type: "plain_text", text: "Where?" },
      element: {
        type: "static_select",
        action_id: "choice",
        options: [
          { text: { type: "plain_text", text: "Handbook" }, value: "handbook" },
          { text: { type: "plain_text", text: "API" }, value: "api" },
        ],
      },
    },
  ],
};

/** Opens the modal on every command. */
export function openModal(app: App) {
  app.command("/docs-agent", async ({ ack, client, body }) => {
    await ack();
    await client.views.open({ trigger_id: body.trigger_id, view: modal });
  });
}
