// @module-tag all

import { describe, expect, it } from "vitest";
import { refused, startSlack } from "./setup.ts";

const plain = (text: string) => ({ type: "plain_text", text });
const section = (text: string) => ({ type: "section", text: { type: "mrkdwn", text } });
const button = (more: object = {}) => ({ type: "button", text: plain("Go"), action_id: "go", ...more });
const select = (more: object = {}) => ({
  type: "static_select",
  action_id: "project",
  options: [{ text: plain("Handbook"), value: "handbook" }],
  ...more,
});
const input = (element: object, more: object = {}) => ({
  type: "input",
  block_id: "prompt",
  label: plain("What is wrong?"),
  element,
  ...more,
});
const richText = (...elements: object[]) => ({
  type: "rich_text",
  elements: [{ type: "rich_text_section", elements }],
});

describe("blocks of a message", () => {
  it("takes everything this project uses", async () => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    await client.apiCall("chat.postMessage", {
      channel: docs.id,
      text: "fallback",
      blocks: [
        { type: "header", text: { ...plain("Docs"), emoji: true } },
        { ...section("*Hello*"), accessory: button({ style: "danger" }) },
        { type: "section", fields: [plain("a"), { type: "mrkdwn", text: "b", verbatim: true }] },
        {
          type: "context",
          elements: [plain("by Ada"), { type: "image", image_url: "https://x.test/a.png", alt_text: "a" }],
        },
        { type: "divider" },
        { type: "image", image_url: "https://x.test/a.png", alt_text: "a", title: plain("A") },
        { type: "markdown", text: "**bold**" },
        {
          type: "plan",
          title: "Edit",
          tasks: [{ type: "task_card", task_id: "1", title: "Read", status: "complete" }],
        },
        richText({ type: "text", text: "hi", style: { bold: true } }, { type: "emoji", name: "wave" }),
        {
          type: "actions",
          elements: [
            button({
              url: "https://x.test/pr",
              value: "1",
              confirm: {
                title: plain("Sure?"),
                text: plain("Really"),
                confirm: plain("Yes"),
                deny: plain("No"),
              },
            }),
            select({ placeholder: plain("Pick") }),
          ],
        },
      ],
    });
    expect(slack.messages(docs.id)[0]?.blocks).toHaveLength(10);
  });

  it.each([
    [
      "51 blocks",
      Array.from({ length: 51 }, () => ({ type: "divider" })),
      "no more than 50 items allowed [json-pointer:/blocks]",
    ],
    ["an empty section", [section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"],
    [
      "a long section",
      [section("x".repeat(3001))],
      "must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ],
    [
      "a section without text",
      [{ type: "section" }],
      "must define either `text` or `fields` [json-pointer:/blocks/0]",
    ],
    [
      "a long field",
      [{ type: "section", fields: [plain("x".repeat(2001))] }],
      "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ],
    [
      "11 fields",
      [{ type: "section", fields: Array.from({ length: 11 }, () => plain("x")) }],
      "no more than 10 items allowed [json-pointer:/blocks/0/fields]",
    ],
    [
      "a long header",
      [{ type: "header", text: plain("x".repeat(151)) }],
      "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
    ],
    [
      "two tasks of one id",
      [
        {
          type: "plan",
          title: "x",
          tasks: [1, 2].map(() => ({ type: "task_card", task_id: "1", title: "x" })),
        },
      ],
      "`task_id` must be unique [json-pointer:/blocks/0]",
    ],
    [
      "a task of another status",
      [{ type: "task_card", task_id: "1", title: "x", status: "completed" }],
      "failed to match all allowed schemas [json-pointer:/blocks/0/status]",
    ],
    [
      "a header in mrkdwn",
      [{ type: "header", text: { type: "mrkdwn", text: "x" } }],
      "failed to match all allowed schemas [json-pointer:/blocks/0/text/type]",
    ],
    [
      "an empty context",
      [{ type: "context", elements: [] }],
      "must provide at least 1 items [json-pointer:/blocks/0/elements]",
    ],
    [
      "11 context elements",
      [{ type: "context", elements: Array.from({ length: 11 }, () => plain("x")) }],
      "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
    ],
    [
      "26 buttons",
      [
        {
          type: "actions",
          elements: Array.from({ length: 26 }, (_, index) => button({ action_id: `${index}` })),
        },
      ],
      "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    ],
    [
      "a long button",
      [{ type: "actions", elements: [button({ text: plain("x".repeat(76)) })] }],
      "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
    ],
    [
      "a long value",
      [{ type: "actions", elements: [button({ value: "x".repeat(2001) })] }],
      "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
    ],
    [
      "a long URL",
      [{ type: "actions", elements: [button({ url: `https://x.test/${"x".repeat(3000)}` })] }],
      "must be less than 3001 characters [json-pointer:/blocks/0/elements/0/url]",
    ],
    [
      "no URL at all",
      [{ type: "actions", elements: [button({ url: "x" })] }],
      "invalid url [json-pointer:/blocks/0/elements/0/url]",
    ],
    [
      "a strange style",
      [{ type: "actions", elements: [button({ style: "loud" })] }],
      "failed to match all allowed schemas [json-pointer:/blocks/0/elements/0/style]",
    ],
    [
      "a repeated action id",
      [{ type: "actions", elements: [button(), button()] }],
      "`action_id` already exists: go [json-pointer:/blocks/0/elements/1/action_id]",
    ],
    [
      "a repeated block id",
      [
        { type: "divider", block_id: "a" },
        { type: "divider", block_id: "a" },
      ],
      "`block_id` already exists: a [json-pointer:/blocks/1/block_id]",
    ],
    [
      "a long block id",
      [{ type: "divider", block_id: "x".repeat(256) }],
      "must be less than 256 characters [json-pointer:/blocks/0/block_id]",
    ],
    [
      "a misspelt property",
      [{ ...section("x"), txt: "y" }],
      "invalid additional property: txt [json-pointer:/blocks/0]",
    ],
    ["an unknown type", [{ type: "sektion" }], "unsupported type: sektion [json-pointer:/blocks/0/type]"],
    [
      "a block without a type",
      [{ text: plain("x") }],
      "missing required field: type [json-pointer:/blocks/0]",
    ],
    [
      "a missing label",
      [{ type: "actions", elements: [{ type: "button", action_id: "a" }] }],
      "missing required field: text [json-pointer:/blocks/0/elements/0]",
    ],
    [
      "empty rich text",
      [richText({ type: "text", text: "" })],
      "must be more than 0 characters [json-pointer:/blocks/0/elements/0/elements/0/text]",
    ],
    [
      "a long markdown block",
      [{ type: "markdown", text: "x".repeat(12_001) }],
      "must be less than 12001 characters [json-pointer:/blocks/0/text]",
    ],
    [
      "a menu whose initial option is not on it",
      [{ ...section("x"), accessory: select({ initial_option: { text: plain("Other"), value: "other" } }) }],
      "must exactly match one of the provided options [json-pointer:/blocks/0/accessory/initial_option]",
    ],
    [
      "a menu without options",
      [{ ...section("x"), accessory: select({ options: [] }) }],
      "must provide at least 1 items [json-pointer:/blocks/0/accessory/options]",
    ],
  ])("refuses %s", async (_name, blocks, message) => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    const body = await refused(client.apiCall("chat.postMessage", { channel: docs.id, text: "x", blocks }));
    expect(body.error).toBe("invalid_blocks");
    expect(body.response_metadata?.messages).toContain(`[ERROR] ${message}`);
    expect(slack.messages(docs.id)).toEqual([]);
  });

  it("refuses more text than one message can hold, block by block within the limits", async () => {
    await using world = await startSlack();
    const { client, docs } = world;
    const blocks = Array.from({ length: 5 }, () => section("x".repeat(2700)));
    const body = await refused(client.apiCall("chat.postMessage", { channel: docs.id, text: "x", blocks }));
    expect(body.error).toBe("msg_blocks_too_long");
  });

  it("refuses blocks that are no list", async () => {
    await using world = await startSlack();
    const { client, docs } = world;
    const body = await refused(
      client.apiCall("chat.postMessage", { channel: docs.id, text: "x", blocks: { blocks: [] } }),
    );
    expect(body.error).toBe("invalid_blocks_format");
  });
});

describe("modals", () => {
  const modal = (more: object = {}) => ({
    type: "modal",
    title: plain("Fix these docs"),
    submit: plain("Send"),
    blocks: [input({ type: "plain_text_input", action_id: "text" })],
    ...more,
  });

  it.each([
    [
      "a long title",
      modal({ title: plain("x".repeat(25)) }),
      "must be less than 25 characters [json-pointer:/view/title/text]",
    ],
    [
      "an input without a submit button",
      modal({ submit: undefined }),
      "must define `submit` to use an `input` block in modals [json-pointer:/view/blocks/0/input]",
    ],
    [
      "much private metadata",
      modal({ private_metadata: "x".repeat(3001) }),
      "must be less than 3001 characters [json-pointer:/view/private_metadata]",
    ],
    [
      "a long callback id",
      modal({ callback_id: "x".repeat(256) }),
      "must be less than 256 characters [json-pointer:/view/callback_id]",
    ],
    [
      "101 blocks",
      modal({ blocks: Array.from({ length: 101 }, () => ({ type: "divider" })) }),
      "no more than 100 items allowed [json-pointer:/view/blocks]",
    ],
    [
      "a markdown block",
      modal({ blocks: [{ type: "markdown", text: "x" }] }),
      "unsupported type: markdown [json-pointer:/view/blocks/0/type]",
    ],
    [
      "a long label",
      modal({ blocks: [input({ type: "plain_text_input" }, { label: plain("x".repeat(2001)) })] }),
      "must be less than 2001 characters [json-pointer:/view/blocks/0/label/text]",
    ],
    [
      "a long initial value",
      modal({ blocks: [input({ type: "plain_text_input", initial_value: "x".repeat(3001) })] }),
      "must be less than 3001 characters [json-pointer:/view/blocks/0/element/initial_value]",
    ],
    [
      "a huge maximum",
      modal({ blocks: [input({ type: "plain_text_input", max_length: 3001 })] }),
      "must be at most 3000 [json-pointer:/view/blocks/0/element/max_length]",
    ],
    [
      "a long option",
      modal({ blocks: [input(select({ options: [{ text: plain("x".repeat(76)), value: "v" }] }))] }),
      "must be less than 76 characters [json-pointer:/view/blocks/0/element/options/0/text/text]",
    ],
    ["a missing title", modal({ title: undefined }), "missing required field: title [json-pointer:/view]"],
  ])("refuses %s", async (_name, view, message) => {
    await using world = await startSlack();
    const body = await refused(world.client.apiCall("views.open", { trigger_id: "1.2.3", view }));
    expect(body.error).toBe("invalid_arguments");
    expect(body.response_metadata?.messages).toContain(`[ERROR] ${message}`);
  });
});
