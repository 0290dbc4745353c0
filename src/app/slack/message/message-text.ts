import type { Segment } from "../../rules/turn/request.ts";
import { decodeEntities } from "../../messages/mrkdwn.ts";

const CONTROL = /<([^<>]+)>/g;

/**
 * The scheme of a link's target. Slack adds `http://` and `mailto:` where people leave them out.
 */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Takes a message's mrkdwn apart: people, channels, groups, links, and the text between them, with
 * entities decoded. Angle brackets in Slack's text are always its own, because those that people
 * type arrive as entities. Unknown contents of brackets stay text.
 */
export function parseMessageText(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(CONTROL)) {
    pushText(segments, text.slice(end, match.index));
    segments.push(parseControl(match[1] ?? "") ?? { kind: "text", text: decodeEntities(match[0]) });
    end = match.index + match[0].length;
  }
  pushText(segments, text.slice(end));
  return segments;
}

function pushText(segments: Segment[], text: string): void {
  if (text !== "") segments.push({ kind: "text", text: decodeEntities(text) });
}

function parseControl(inner: string): Segment | null {
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
    const [name = "", id = ""] = target.slice(1).split("^");
    if (name === "date") return label === null ? null : { kind: "text", text: label };
    const shown = label?.replace(/^@/, "") ?? "";
    if (name === "subteam" && id !== "") return { kind: "group", id, label: shown };
    return shown === "" && name === "" ? null : { kind: "group", label: shown || id || name };
  }
  return SCHEME.test(target) ? { kind: "link", url: target, label } : null;
}
