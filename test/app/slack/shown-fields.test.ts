import { describe, expect, it } from "vitest";
import { composePrompt } from "../../../src/app/rules/words/prompt.ts";
import { toPersonMessage } from "../../../src/app/slack/message/slack-message.ts";
import { membersOf, samplesOf, type Sample } from "../../support/slack-type-samples.ts";

/**
 * Fields that Slack shows nobody: ids, what a button sends, colors, and addresses of what is named.
 * A file's preview is part of the file, which goes along or is named.
 */
const UNSEEN = [
  /\.(?:\w*_id|id|filetypes|visible_to_user_ids|format|unicode)$/,
  /\.(?:icon|iconUrl|url|source|style|type|data_source|min_value|max_value|filetype|mimetype)$/,
  /\.(?:ts|mode|permalink\w*|edit_link|thumb_\w+|deanimate_gif|url_private\w*|\w+_icon(?:_url)?)$/,
  /(?:Button|Buttons\.\w+|Option|OptionField|AttachmentAction)\.value$/,
  /\.customizable_input_parameters\.\w+$/,
  /^AttachmentAction\.name$/,
  /^MessageAttachment\.(?:author_link|app_unfurl_url|color)$/,
  /^File\.(?:pretty_type|user|users|username|external_type|lines|lines_more|channels|groups)$/,
  /^File\.(?:pinned_to|comments_count|preview|preview_highlight)$/,
];

/** What stands for a field that can't be put into words. */
const NAMED_AS_LEFT_OUT: Record<string, string> = {
  "ImageBlock.image_url": "image",
  "ImageElement.image_url": "image",
  "SlackFileViaUrl.url": "image",
  "SlackFileViaId.id": "image",
  "MessageAttachment.image_url": "image",
  "MessageAttachment.thumb_url": "image",
  "VideoBlock.video_url": "video",
  "VideoBlock.thumbnail_url": "video",
  "File.initial_comment": "file comment",
  "FileBlock.external_id": "remote file",
  "FileBlock.source": "remote file",
};

type Parts = { blocks?: unknown[]; attachments?: unknown[]; files?: unknown[] };

/** The prompt that a person's message becomes. */
function promptOf(parts: Parts, markers: ReadonlyMap<string, string>): string {
  const message = { channel: "C0DOCS", user: "U0ANA", ts: "1764300000.000100", text: "fix this", ...parts };
  const { beside, files } = toPersonMessage("T0ACME", { attachments: null, blocks: null, ...message });
  const groups = new Map([...markers.keys()].map((marker) => [marker, marker]));
  const names = { people: new Map(), channels: new Map(), groups, permalink: null };
  const request = { channelId: "C0DOCS", instructions: "fix this", quoted: null };
  const { prompt } = composePrompt({ ...request, ...(beside === null ? {} : { beside }) }, names);
  return [prompt, ...files.map(({ name }) => name)].join("\n");
}

/** The fields whose words neither reach the prompt nor are named there as left out. */
function lostOf({ markers }: Sample, parts: Parts): string[] {
  const prompt = promptOf(parts, markers);
  const given = JSON.stringify(parts);
  return [...markers].flatMap(([marker, field]) => {
    if (!given.includes(marker)) return [];
    const isThere = prompt.includes(marker);
    const noun = NAMED_AS_LEFT_OUT[field];
    if (noun !== undefined) return new RegExp(`\\[left out: .*\\b${noun}`).test(prompt) ? [] : [field];
    return isThere || UNSEEN.some((unseen) => unseen.test(field)) ? [] : [field];
  });
}

const BLOCKS = membersOf("KnownBlock");
/** The blocks that are tried inside others. */
const IN_OTHERS = ["HeaderBlock", "RichTextBlock", "TaskCardBlock", "CardBlock"];

const KINDS: [string, (value: unknown) => Parts][] = [
  ...BLOCKS.map((name): [string, (value: unknown) => Parts] => [name, (value) => ({ blocks: [value] })]),
  // Slack shows an attachment's blocks in place of its text, and its fallback only alone.
  ["MessageAttachment", (value) => ({ attachments: [{ ...record(value), blocks: [], fallback: "" }] })],
  ["MessageAttachment", (value) => ({ attachments: [{ blocks: record(value)["blocks"] }] })],
  ["MessageAttachment", (value) => ({ attachments: [{ fallback: record(value)["fallback"] }] })],
  ["File", (value) => ({ files: [value] })],
];

function record(value: unknown): Record<string, unknown> {
  return value as Record<string, unknown>;
}

describe("what people see of a message reaches the agent, or is named as left out", () => {
  it.each(KINDS)("%s", (name, partsOf) => {
    // Blocks have tests of their own, and all of them at once are too long for one message.
    const others = BLOCKS.filter((block) => block !== name && !IN_OTHERS.includes(block));
    const lost = samplesOf(name, others).flatMap((sample) => lostOf(sample, partsOf(sample.value)));
    expect([...new Set(lost)]).toEqual([]);
  });
});
