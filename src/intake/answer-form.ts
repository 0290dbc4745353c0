import type { ModalView } from "@slack/types";
import { ANSWER_MAX_CHARS } from "../core/question.ts";
import type { Question } from "../core/question.ts";
import { quoteText } from "../replies/blocks.ts";

export const ANSWER_FORM = "answer_form";
export const ANSWER = "answer";

/** The form for an answer in words. `value`: which question it is for. */
export function answerModal({ text }: Question, value: string): ModalView {
  return {
    type: "modal",
    callback_id: ANSWER_FORM,
    title: { type: "plain_text", text: "Answer the agent" },
    submit: { type: "plain_text", text: "Send" },
    close: { type: "plain_text", text: "Cancel" },
    private_metadata: value,
    blocks: [
      quoteText(text || "(no text)"),
      {
        type: "input",
        block_id: ANSWER,
        label: { type: "plain_text", text: "Your answer" },
        element: {
          type: "plain_text_input",
          action_id: ANSWER,
          multiline: true,
          max_length: ANSWER_MAX_CHARS,
          focus_on_load: true,
        },
      },
    ],
  };
}
