import { WebAPIPlatformError } from "@slack/web-api";
import type { ModalView } from "@slack/types";
import type { WebClient } from "@slack/web-api";
import { readContent } from "../world/slack/web-api/chat.ts";
import { SlackRefusal } from "../world/slack/refusal.ts";
import { parseView } from "../world/slack/validate-blocks.ts";
import type { Rendered } from "../src/app/messages/blocks.ts";
import { MESSAGE_TEXT_MAX } from "../src/app/messages/blocks.ts";
import { render } from "../src/app/messages/render.ts";
import { CONTACT } from "./made-up.ts";
import { samples } from "./samples.ts";

/** A message or form as Slack gets it, and its faults. */
export type Shown = { name: string; content: Rendered | ModalView; faults: string[] };

/** The messages of one kind. */
export type Group = { title: string; messages: Shown[] };

const TEAM = { botName: "docs-agent", teamUrl: "https://example.slack.com/" };

/** All samples, rendered for a workspace with two projects and checked against Slack's limits. */
export function renderedSamples(): Group[] {
  const presentation = {
    asksForProject: false,
    isAskOnly: () => false,
    projects: ["docs", "handbook"],
    watchedFor: "1 day",
    contact: CONTACT,
    httpOrigins: [],
  };
  return Object.entries(samples).map(([title, group]) => ({
    title,
    messages: group.map(({ name, message }) => {
      const content = "kind" in message ? render(message, presentation, TEAM) : message;
      return { name, content, faults: faultsOf(content) };
    }),
  }));
}

/** The rules of Slack's documentation that a message breaks, as Slack's stand-in checks them. */
export function faultsOf(content: Rendered | ModalView): string[] {
  if ("type" in content) return refusalsOf(() => parseView(content));
  const { text, blocks, plainBlocks = blocks } = content;
  const faults = [blocks, plainBlocks].flatMap((each) =>
    refusalsOf(() => readContent({ text, blocks: JSON.parse(JSON.stringify(each)) })),
  );
  if (text.length > MESSAGE_TEXT_MAX) faults.push(`its text has ${text.length} characters`);
  return [...new Set(faults)];
}

function refusalsOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof SlackRefusal)) throw thrown;
    return [`${thrown.error} ${JSON.stringify(thrown.details["errors"] ?? "")}`];
  }
}

/**
 * Asks Slack itself about each message, and adds the faults that it finds:
 * https://docs.slack.dev/reference/methods/blocks.validate
 */
export async function askSlack(groups: readonly Group[], client: WebClient): Promise<void> {
  for (const { content, faults } of groups.flatMap(({ messages }) => messages)) {
    try {
      await client.blocks.validate(
        "type" in content ? { view: content } : { message: { blocks: content.blocks } },
      );
    } catch (thrown) {
      if (
        !(thrown instanceof WebAPIPlatformError) ||
        !/^invalid_(blocks|message|view)$/.test(thrown.data.error)
      )
        throw thrown;
      faults.push(`Slack: ${JSON.stringify(thrown.data)}`);
    }
  }
}

/** All faults, in a line each. */
export function faultLines(groups: readonly Group[]): string[] {
  return groups.flatMap(({ title, messages }) =>
    messages.flatMap(({ name, faults }) => faults.map((fault) => `${title}, ${name}: ${fault}`)),
  );
}
