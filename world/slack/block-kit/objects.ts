import * as z from "zod";

/**
 * Composition objects and elements of Block Kit, with Slack's limits. See
 * https://docs.slack.dev/reference/block-kit
 */

export type PlainText = z.infer<ReturnType<typeof plainText>>;
export type TextObject = z.infer<ReturnType<typeof textObject>>;

/** Makes the schema of a `plain_text` object of 1 to `max` characters. */
export function plainText(max: number) {
  return z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(max),
    emoji: z.boolean().optional(),
  });
}

function mrkdwn(max: number) {
  return z.strictObject({
    type: z.literal("mrkdwn"),
    text: z.string().min(1).max(max),
    verbatim: z.boolean().optional(),
  });
}

/** Makes the schema of a `plain_text` or `mrkdwn` object of 1 to `max` characters. */
export function textObject(max: number) {
  return z.discriminatedUnion("type", [plainText(max), mrkdwn(max)]);
}

const Url = z
  .string()
  .min(1)
  .max(3000)
  .refine((url) => URL.canParse(url), { message: "invalid url" });

const ActionId = z.string().min(1).max(255).optional();

const Confirm = z.strictObject({
  title: plainText(100).optional(),
  text: textObject(300),
  confirm: plainText(30).optional(),
  deny: plainText(30).optional(),
  style: z.enum(["primary", "danger"]).optional(),
});

/** One choice of a select menu. */
export type Option = z.infer<typeof Option>;
const Option = z.strictObject({
  text: plainText(75),
  value: z.string().min(1).max(150),
  description: plainText(75).optional(),
});

export type Button = z.infer<typeof Button>;
export const Button = z.strictObject({
  type: z.literal("button"),
  text: plainText(75),
  action_id: ActionId,
  value: z.string().min(1).max(2000).optional(),
  url: Url.optional(),
  style: z.enum(["primary", "danger"]).optional(),
  confirm: Confirm.optional(),
  accessibility_label: z.string().max(75).optional(),
});

export type StaticSelect = z.infer<typeof StaticSelect>;
export const StaticSelect = z
  .strictObject({
    type: z.literal("static_select"),
    action_id: ActionId,
    placeholder: plainText(150).optional(),
    options: z.array(Option).min(1).max(100),
    initial_option: Option.optional(),
    confirm: Confirm.optional(),
    focus_on_load: z.boolean().optional(),
  })
  .superRefine((select, context) => {
    const initial = select.initial_option;
    if (initial === undefined) return;
    const isListed = select.options.some(
      (option) => option.value === initial.value && option.text.text === initial.text.text,
    );
    if (!isListed) {
      context.addIssue({
        code: "custom",
        path: ["initial_option"],
        message: "must exactly match one of the provided options",
      });
    }
  });

/** One choice in a group of checkboxes. Its text may be mrkdwn, and its description is plain. */
const CheckboxOption = z.strictObject({
  text: textObject(75),
  value: z.string().min(1).max(150),
  description: plainText(75).optional(),
});

/** https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element */
export type Checkboxes = z.infer<typeof Checkboxes>;
export const Checkboxes = z
  .strictObject({
    type: z.literal("checkboxes"),
    action_id: ActionId,
    options: z.array(CheckboxOption).min(1).max(10),
    initial_options: z.array(CheckboxOption).min(1).max(10).optional(),
    confirm: Confirm.optional(),
    focus_on_load: z.boolean().optional(),
  })
  .superRefine(({ options, initial_options = [] }, context) => {
    const listed = new Set(options.map((option) => JSON.stringify(option)));
    for (const [index, option] of initial_options.entries()) {
      if (listed.has(JSON.stringify(option))) continue;
      const message = "must exactly match one of the provided options";
      context.addIssue({ code: "custom", path: ["initial_options", index], message });
    }
  });

/**
 * A menu behind an ellipsis, with up to five entries. See
 * https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element. Earlier versions
 * of that page refused fewer than two.
 */
export type Overflow = z.infer<typeof Overflow>;
export const Overflow = z.strictObject({
  type: z.literal("overflow"),
  action_id: ActionId,
  options: z
    .array(Option.omit({ description: true }))
    .min(2)
    .max(5),
  confirm: Confirm.optional(),
});

const FeedbackButton = z.strictObject({
  text: plainText(75),
  value: z.string().min(1).max(2000),
  accessibility_label: z.string().max(75).optional(),
});

/** https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element */
export type FeedbackButtons = z.infer<typeof FeedbackButtons>;
export const FeedbackButtons = z.strictObject({
  type: z.literal("feedback_buttons"),
  action_id: ActionId,
  positive_button: FeedbackButton,
  negative_button: FeedbackButton,
});

export type PlainTextInput = z.infer<typeof PlainTextInput>;
export const PlainTextInput = z
  .strictObject({
    type: z.literal("plain_text_input"),
    action_id: ActionId,
    initial_value: z.string().max(3000).optional(),
    multiline: z.boolean().optional(),
    min_length: z.int().min(0).max(3000).optional(),
    max_length: z.int().min(1).max(3000).optional(),
    placeholder: plainText(150).optional(),
    focus_on_load: z.boolean().optional(),
  })
  .superRefine((input, context) => {
    const maximum = input.max_length ?? 3000;
    if ((input.min_length ?? 0) > maximum) {
      context.addIssue({ code: "custom", path: ["min_length"], message: "must not exceed `max_length`" });
    }
    if ((input.initial_value ?? "").length > maximum) {
      context.addIssue({ code: "custom", path: ["initial_value"], message: "must not exceed `max_length`" });
    }
  });

export const ImageElement = z.strictObject({
  type: z.literal("image"),
  image_url: Url,
  alt_text: z.string().min(1).max(2000),
});

export const ImageBlock = ImageElement.extend({
  block_id: z.string().min(1).max(255).optional(),
  title: plainText(2000).optional(),
});
