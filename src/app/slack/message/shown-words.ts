import type { LeftOutPart, Segment } from "../../rules/turn/request.ts";
import { startOf } from "../../../shared/text/text.ts";
import { decodeEntities } from "../../messages/mrkdwn.ts";
import { parseMessageText } from "./message-text.ts";

/** The most characters that are read of one message and of everything it shows. */
const MESSAGE_MAX_CHARS = 20_000;
/** The most parts that are looked at, so that a message of empty parts ends, too. */
const MAX_PARTS = 100_000;
/** Parts inside parts, as deep as they are read. */
export const MAX_DEPTH = 100;

/** What may still be read of one message. All that is read of it shares this. */
export type Room = { chars: number; parts: number };

export function roomOfMessage(): Room {
  return { chars: MESSAGE_MAX_CHARS, parts: MAX_PARTS };
}

/** Collects what a message says, and counts what of it can't be put into words. */
export class ShownWords {
  readonly segments: Segment[] = [];
  readonly room: Room;
  readonly #leftOut = new Map<string, number>();
  /** What goes between the last words and the next ones. */
  #gap = "";

  constructor(room: Room) {
    this.room = room;
  }

  /** Adds text as it is. */
  text(text: string): void {
    if (text !== "") this.add({ kind: "text", text });
  }

  /** Adds text without markup, in which Slack encodes entities. */
  plain(text: string): void {
    this.text(decodeEntities(text));
  }

  /** Adds text in Slack's markup. */
  mrkdwn(text: string): void {
    for (const segment of parseMessageText(text)) this.add(segment);
  }

  /** Adds a segment. Where there is no room, its characters are counted as left out. */
  add(segment: Segment): void {
    this.#closeGap();
    this.#push(segment);
  }

  /** Adds everything that another collector has, which took its own room. */
  addAll(other: ShownWords): void {
    if (!other.isEmpty) this.#closeGap();
    for (const segment of other.segments) this.#keep(segment);
    for (const { what, count } of other.leftOut()) this.leave(what, count);
  }

  /** The next words stand on a line of their own. */
  lineEnd(): void {
    this.#gap = "\n";
  }

  /** The next words stand apart from those before, on the same line. */
  space(): void {
    if (this.#gap === "") this.#gap = " ";
  }

  /** Counts something that can't be put into words. */
  leave(what: string, count = 1): void {
    if (count > 0) this.#leftOut.set(what, (this.#leftOut.get(what) ?? 0) + count);
  }

  leftOut(): LeftOutPart[] {
    return [...this.#leftOut].map(([what, count]) => ({ what, count }));
  }

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  #closeGap(): void {
    if (this.#gap !== "" && !this.isEmpty && this.room.chars > 0) {
      this.#push({ kind: "text", text: this.#gap });
    }
    this.#gap = "";
  }

  #push(segment: Segment): void {
    const { room } = this;
    const length = lengthOfSegment(segment);
    if (length <= room.chars) {
      room.chars -= length;
      this.#keep(segment);
      return;
    }
    const kept = segment.kind === "text" ? startOf(segment.text, room.chars) : "";
    if (kept !== "") this.#keep({ kind: "text", text: kept });
    room.chars = 0;
    this.leave("character", length - kept.length);
  }

  #keep(segment: Segment): void {
    const last = this.segments.at(-1);
    if (segment.kind !== "text" || last?.kind !== "text") this.segments.push(segment);
    else this.segments[this.segments.length - 1] = { kind: "text", text: last.text + segment.text };
  }
}

function lengthOfSegment(segment: Segment): number {
  if (segment.kind === "text") return segment.text.length;
  if (segment.kind === "link") return segment.url.length + (segment.label ?? "").length;
  return Math.max(1, (segment.label ?? "").length);
}
