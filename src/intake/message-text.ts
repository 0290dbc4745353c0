import type { Segment } from "../core/request.ts";

/** The three entities that Slack encodes in text it sends (its formatting guide); decoded once, `&amp;` last. */
export function decodeEntities(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const CONTROL = /<([^<>]+)>/g;

/**
 * Takes a message's mrkdwn apart: people, channels, groups, links, and text between them, entities decoded. Angle brackets in
 * Slack's text are always its own; those people type arrive as entities.
 */
export function parseMessageText(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(CONTROL)) {
    pushText(segments, text.slice(end, match.index));
    segments.push(parseControl(match[1] ?? ""));
    end = match.index + match[0].length;
  }
  pushText(segments, text.slice(end));
  return segments;
}

function pushText(segments: Segment[], text: string): void {
  if (text !== "") segments.push({ kind: "text", text: decodeEntities(text) });
}

function parseControl(inner: string): Segment {
  const bar = inner.indexOf("|");
  const target = decodeEntities(bar === -1 ? inner : inner.slice(0, bar));
  const given = bar === -1 ? "" : decodeEntities(inner.slice(bar + 1));
  const label = given === "" ? null : given;
  if (/^@[UW][A-Z0-9]+$/.test(target)) {
    return { kind: "person", id: target.slice(1), label: label?.replace(/^@/, "") ?? null };
  }
  if (/^#[CGD][A-Z0-9]+$/.test(target)) {
    return { kind: "channel", id: target.slice(1), label: label?.replace(/^#/, "") ?? null };
  }
  if (target.startsWith("!")) {
    // <!here>, <!subteam^S012|@writers>, <!date^…|yesterday>
    const name = target.slice(1).split("^")[0] ?? "";
    if (name === "date") return { kind: "text", text: label ?? target };
    return { kind: "group", label: (label ?? name).replace(/^@/, "") };
  }
  return { kind: "link", url: target, label };
}
