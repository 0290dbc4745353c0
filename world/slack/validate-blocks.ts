import type * as z from "zod";
import { makeSecret } from "./ids.ts";
import { refusalWithMessages, SlackRefusal } from "./refusal.ts";
import { blockTexts } from "./block-kit/texts.ts";
import { type AnyBlock, HomeView, type MessageBlock, MessageBlocks, ModalView } from "./block-kit/blocks.ts";

/**
 * Roughly the length of all texts in one message's blocks above which Slack answers
 * `msg_blocks_too_long`. See slackapi/bolt-js#2509.
 */
const MAX_BLOCK_TEXT = 13_000;

/**
 * Parses the blocks of a message. Throws the refusal that Slack would give. Blocks and elements
 * without ids get one.
 */
export function parseMessageBlocks(value: unknown): MessageBlock[] {
  if (!Array.isArray(value)) throw new SlackRefusal("invalid_blocks_format");
  const parsed = MessageBlocks.safeParse(value);
  if (!parsed.success) throw refusalWithMessages("invalid_blocks", describe(parsed.error, value, "/blocks"));
  const blocks = parsed.data.map(withIds);
  const length = blocks.flatMap(blockTexts).reduce((sum, { text }) => sum + text.length, 0);
  if (length > MAX_BLOCK_TEXT) throw new SlackRefusal("msg_blocks_too_long");
  return blocks;
}

/**
 * Parses a modal. Throws the refusal that Slack would give. Blocks and elements without ids get
 * one.
 */
export function parseView(value: unknown): ModalView {
  const parsed = ModalView.safeParse(value);
  if (!parsed.success) throw refusalWithMessages("invalid_arguments", describe(parsed.error, value, "/view"));
  if (JSON.stringify(value).length > 250_000) throw new SlackRefusal("view_too_large");
  return { ...parsed.data, blocks: parsed.data.blocks.map(withIds) };
}

/** Parses a Home tab, as {@link parseView} does a modal. */
export function parseHome(value: unknown): HomeView {
  const parsed = HomeView.safeParse(value);
  if (!parsed.success) throw refusalWithMessages("invalid_arguments", describe(parsed.error, value, "/view"));
  if (JSON.stringify(value).length > 250_000) throw new SlackRefusal("view_too_large");
  return { ...parsed.data, blocks: parsed.data.blocks.map(withIds) };
}

function withIds<Block extends AnyBlock>(block: Block): Block {
  const named = { ...block, block_id: block.block_id ?? shortId() };
  if (named.type === "actions") return { ...named, elements: named.elements.map(withActionId) };
  if (named.type === "section" && named.accessory !== undefined && named.accessory.type !== "image") {
    return { ...named, accessory: withActionId(named.accessory) };
  }
  if (named.type === "input") return { ...named, element: withActionId(named.element) };
  return named;
}

function withActionId<Element extends { action_id?: string | undefined }>(element: Element): Element {
  return { ...element, action_id: element.action_id ?? shortId() };
}

function shortId(): string {
  return makeSecret().slice(0, 5);
}

type Issue = z.core.$ZodIssue;

function describe(error: z.ZodError, root: unknown, pointer: string): string[] {
  return error.issues.flatMap((issue) => describeIssue(issue, root, pointer));
}

/** Describes an issue in Slack's words, as far as public reports show them, with a JSON pointer. */
function describeIssue(issue: Issue, root: unknown, pointer: string): string[] {
  function at(message: string, path: readonly PropertyKey[] = issue.path): string {
    return `${message} [json-pointer:${[pointer, ...path.map(String)].join("/")}]`;
  }
  switch (issue.code) {
    case "too_big":
      return issue.origin === "string"
        ? [at(`must be less than ${Number(issue.maximum) + 1} characters`)]
        : [
            at(
              issue.origin === "array"
                ? `no more than ${issue.maximum} items allowed`
                : `must be at most ${issue.maximum}`,
            ),
          ];
    case "too_small":
      return issue.origin === "string"
        ? [at(`must be more than ${Number(issue.minimum) - 1} characters`)]
        : [
            at(
              issue.origin === "array"
                ? `must provide at least ${issue.minimum} items`
                : `must be at least ${issue.minimum}`,
            ),
          ];
    case "unrecognized_keys":
      return issue.keys.map((key) => at(`invalid additional property: ${key}`));
    case "invalid_union": {
      const type = valueAt(root, issue.path);
      if (type === undefined) return [at("missing required field: type", issue.path.slice(0, -1))];
      return [at(`unsupported type: ${typeof type === "string" ? type : JSON.stringify(type)}`)];
    }
    case "custom":
      return [at(issue.message)];
    case "invalid_type":
    case "invalid_value":
      if (valueAt(root, issue.path) === undefined) {
        return [at(`missing required field: ${String(issue.path.at(-1))}`, issue.path.slice(0, -1))];
      }
      return [at("failed to match all allowed schemas")];
    case "invalid_format":
    case "invalid_key":
    case "invalid_element":
    case "not_multiple_of":
      return [at("failed to match all allowed schemas")];
  }
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
