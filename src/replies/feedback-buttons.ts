import type { KnownBlock } from "@slack/types";
import type { Turn } from "../core/turn.ts";
import { FEEDBACK, FEEDBACK_NO, FEEDBACK_YES, feedbackValue } from "./actions.ts";
import { labelled } from "./blocks.ts";

const QUESTION = "Was this helpful?";

/**
 * Two icons under an outcome that ask whether it helped:
 * https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element. Slack shows their text to who points at them.
 */
export function feedbackButtons({ id: turnId }: Turn): KnownBlock[] {
  const button = (vote: "yes" | "no", text: string) => ({
    text: { type: "plain_text" as const, text },
    value: feedbackValue.write({ turnId, vote }),
    accessibility_label: `${QUESTION} ${text}`,
  });
  return [
    {
      type: "context_actions",
      elements: [
        {
          type: "feedback_buttons",
          action_id: FEEDBACK,
          positive_button: button("yes", "Helpful"),
          negative_button: button("no", "Not helpful"),
        },
      ],
    },
  ];
}

/** The same with buttons of the usual kind, for where Slack doesn't take these. */
export function withUsualButtons(blocks: KnownBlock[]): KnownBlock[] {
  return blocks.map((block): KnownBlock => {
    if (block.type !== "context_actions") return block;
    const elements = block.elements.flatMap((element) =>
      element.type === "feedback_buttons"
        ? [
            { ...labelled(FEEDBACK_YES, "Helpful"), value: element.positive_button.value },
            { ...labelled(FEEDBACK_NO, "Not helpful"), value: element.negative_button.value },
          ]
        : [],
    );
    return { type: "actions", elements };
  });
}
