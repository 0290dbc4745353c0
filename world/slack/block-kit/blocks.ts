import * as z from "zod";
import {
  Button,
  FeedbackButtons,
  Checkboxes,
  ImageBlock,
  ImageElement,
  Overflow,
  PlainTextInput,
  plainText,
  StaticSelect,
  textObject,
} from "./objects.ts";
import { RichTextBlock } from "./rich-text.ts";

/**
 * The part of Block Kit that this project uses, as strictly as Slack reads it. Everything else is
 * refused as an unsupported type, so a new kind of block fails a test until it is described here.
 */

const BlockId = z.string().min(1).max(255).optional();

const Section = z
  .strictObject({
    type: z.literal("section"),
    block_id: BlockId,
    text: textObject(3000).optional(),
    fields: z.array(textObject(2000)).min(1).max(10).optional(),
    accessory: z.discriminatedUnion("type", [Button, StaticSelect, Overflow, ImageElement]).optional(),
    expand: z.boolean().optional(),
  })
  .refine((section) => section.text !== undefined || section.fields !== undefined, {
    message: "must define either `text` or `fields`",
  });

const Header = z.strictObject({ type: z.literal("header"), block_id: BlockId, text: plainText(150) });

const Divider = z.strictObject({ type: z.literal("divider"), block_id: BlockId });

const Context = z.strictObject({
  type: z.literal("context"),
  block_id: BlockId,
  elements: z
    .array(z.discriminatedUnion("type", [textObject(3000), ImageElement]))
    .min(1)
    .max(10),
});

const Actions = z
  .strictObject({
    type: z.literal("actions"),
    block_id: BlockId,
    elements: z
      .array(z.discriminatedUnion("type", [Button, StaticSelect, Overflow]))
      .min(1)
      .max(25),
  })
  .superRefine((actions, context) => {
    const seen = new Set<string>();
    for (const [index, element] of actions.elements.entries()) {
      const id = element.action_id;
      if (id !== undefined && seen.has(id)) {
        context.addIssue({
          code: "custom",
          path: ["elements", index, "action_id"],
          message: `\`action_id\` already exists: ${id}`,
        });
      }
      if (id !== undefined) seen.add(id);
    }
  });

/**
 * https://docs.slack.dev/reference/block-kit/blocks/context-actions-block. It may have icon buttons
 * too, but the app uses none.
 */
const ContextActions = z.strictObject({
  type: z.literal("context_actions"),
  block_id: BlockId,
  elements: z.array(FeedbackButtons).min(1).max(5),
});

const Markdown = z.strictObject({
  type: z.literal("markdown"),
  block_id: BlockId,
  text: z.string().min(1).max(12_000),
});

const UrlSource = z.strictObject({
  type: z.literal("url"),
  url: z
    .string()
    .min(1)
    .refine((url) => URL.canParse(url), { message: "invalid url" }),
  text: z.string().min(1),
});

/**
 * https://docs.slack.dev/reference/block-kit/blocks/task-card-block. Slack documents no length for
 * titles. The app keeps them below the length of a header.
 */
const TaskCard = z.strictObject({
  type: z.literal("task_card"),
  block_id: BlockId,
  task_id: z.string().min(1).max(255),
  title: z.string().min(1).max(150),
  status: z.enum(["pending", "in_progress", "complete", "error"]).optional(),
  details: RichTextBlock.optional(),
  output: RichTextBlock.optional(),
  sources: z.array(UrlSource).optional(),
});

/**
 * https://docs.slack.dev/reference/block-kit/blocks/plan-block. It has at most 50 tasks, each with
 * an id of its own.
 */
const PlanBlock = z
  .strictObject({
    type: z.literal("plan"),
    block_id: BlockId,
    title: z.string().min(1).max(150),
    tasks: z.array(TaskCard).max(50).optional(),
  })
  .refine(({ tasks = [] }) => new Set(tasks.map(({ task_id }) => task_id)).size === tasks.length, {
    message: "`task_id` must be unique",
  });

export type InputBlock = z.infer<typeof Input>;
const Input = z.strictObject({
  type: z.literal("input"),
  block_id: BlockId,
  label: plainText(2000),
  hint: plainText(2000).optional(),
  optional: z.boolean().optional(),
  dispatch_action: z.boolean().optional(),
  element: z.discriminatedUnion("type", [PlainTextInput, StaticSelect, Checkboxes]),
});

const shared = [Section, Header, Divider, Context, Actions, ImageBlock, RichTextBlock] as const;

/**
 * A block in a message. Input blocks are accepted in modals only, because Slack's documentation and
 * reports of its behavior disagree about them in messages.
 */
export type MessageBlock = z.infer<typeof MessageBlock>;
const MessageBlock = z.discriminatedUnion("type", [...shared, ContextActions, Markdown, TaskCard, PlanBlock]);

/** A block in a modal. There is no `markdown`, which Slack allows in messages only. */
export type ViewBlock = z.infer<typeof ViewBlock>;
const ViewBlock = z.discriminatedUnion("type", [...shared, Input]);

export type AnyBlock = MessageBlock | ViewBlock;

function refuseRepeatedIds(
  blocks: readonly { block_id?: string | undefined }[],
  report: (index: number, message: string) => void,
): void {
  const seen = new Set<string>();
  for (const [index, block] of blocks.entries()) {
    if (block.block_id === undefined) continue;
    if (seen.has(block.block_id)) report(index, `\`block_id\` already exists: ${block.block_id}`);
    seen.add(block.block_id);
  }
}

export const MessageBlocks = z
  .array(MessageBlock)
  .max(50)
  .superRefine((blocks, context) => {
    refuseRepeatedIds(blocks, (index, message) =>
      context.addIssue({ code: "custom", path: [index, "block_id"], message }),
    );
  });

/** A Home tab as an app sends it. See https://docs.slack.dev/reference/views/home-tab-views */
export type HomeView = z.infer<typeof HomeView>;
export const HomeView = z
  .strictObject({
    type: z.literal("home"),
    callback_id: z.string().max(255).optional(),
    private_metadata: z.string().max(3000).optional(),
    external_id: z.string().max(255).optional(),
    blocks: z.array(ViewBlock).max(100),
  })
  .superRefine((view, context) => {
    refuseRepeatedIds(view.blocks, (index, message) =>
      context.addIssue({ code: "custom", path: ["blocks", index, "block_id"], message }),
    );
  });

/** A modal as an app sends it. See https://docs.slack.dev/reference/views/modal-views */
export type ModalView = z.infer<typeof ModalView>;
export const ModalView = z
  .strictObject({
    type: z.literal("modal"),
    title: plainText(24),
    submit: plainText(24).optional(),
    close: plainText(24).optional(),
    callback_id: z.string().max(255).optional(),
    private_metadata: z.string().max(3000).optional(),
    external_id: z.string().max(255).optional(),
    clear_on_close: z.boolean().optional(),
    notify_on_close: z.boolean().optional(),
    submit_disabled: z.boolean().optional(),
    blocks: z.array(ViewBlock).max(100),
  })
  .superRefine((view, context) => {
    refuseRepeatedIds(view.blocks, (index, message) =>
      context.addIssue({ code: "custom", path: ["blocks", index, "block_id"], message }),
    );
    if (view.submit !== undefined) return;
    const input = view.blocks.findIndex((block) => block.type === "input");
    if (input === -1) return;
    context.addIssue({
      code: "custom",
      path: ["blocks", input, "input"],
      message: "must define `submit` to use an `input` block in modals",
    });
  });
