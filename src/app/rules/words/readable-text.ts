import type { Segment } from "../turn/request.ts";

/** Readable names for the ids in what is quoted. An id without a name stays an id. */
export type Names = {
  people: ReadonlyMap<string, string>;
  channels: ReadonlyMap<string, string>;
  groups: ReadonlyMap<string, string>;
  permalink: string | null;
};

/** Finds a name by its id. */
type NamesOfIds = Record<"people" | "channels" | "groups", { get(id: string): string | undefined }>;

/** Ids of the people, channels and groups in a text for which Slack gave no name. */
export function idsIn(segments: readonly Segment[]): Record<"people" | "channels" | "groups", string[]> {
  const ids = (kind: "person" | "channel" | "group") => [
    ...new Set(
      segments.flatMap((segment) =>
        segment.kind === kind && !segment.label && segment.id ? segment.id : [],
      ),
    ),
  ];
  return { people: ids("person"), channels: ids("channel"), groups: ids("group") };
}

/** Adds the known names of people, channels and groups to a text. */
export function withNames(segments: readonly Segment[], names: NamesOfIds): Segment[] {
  return segments.map((segment) => {
    if (segment.kind === "group") {
      return { ...segment, label: segment.label || (names.groups.get(segment.id ?? "") ?? "") };
    }
    if (segment.kind !== "person" && segment.kind !== "channel") return segment;
    const known = segment.kind === "person" ? names.people : names.channels;
    return { ...segment, label: segment.label ?? known.get(segment.id) ?? null };
  });
}

/** A text as plain text. People and channels get the names they have in it. */
export function readableText(segments: readonly Segment[]): string {
  return segments.map(readable).join("");
}

function readable(segment: Segment): string {
  switch (segment.kind) {
    case "text":
      return segment.text;
    case "person":
      return `@${inOneLine(segment.label ?? segment.id)}`;
    case "channel":
      return `#${inOneLine(segment.label ?? segment.id)}`;
    case "group":
      return segment.label === "" ? "a user group" : `@${segment.label}`;
    case "link":
      if (segment.label === null) return segment.url;
      // People type `docs.example.com` and `ana@example.com`, and Slack turns them into links.
      return segment.url.replace(ADDED_BY_SLACK, "") === segment.label || segment.url === segment.label
        ? segment.label
        : `${segment.label} (${segment.url})`;
  }
}

const ADDED_BY_SLACK = /^(?:https?:\/\/|mailto:|tel:)/i;

/** Like {@link readableText}, with words in place of ids, since nobody reads these. */
export function unnamedText(segments: readonly Segment[], someone = "…"): string {
  const unnamed = { get: () => "…" };
  const names = { people: { get: () => someone }, channels: unnamed, groups: { get: () => undefined } };
  return readableText(withNames(segments, names));
}

/** A text with single spaces, in one line. */
export function inOneLine(text: string): string {
  return text.replaceAll(/[\s\u0085]+/g, " ").trim();
}
