import { changedFiles } from "./changed-files.ts";
import { linesOfPatch } from "./patch-lines.ts";
import type { DiffSide, LineComment } from "./line-comment.ts";
import type { Repository } from "./repository.ts";

/** A comment on a line, as somebody writes it. */
export type NewLineComment = {
  path: string;
  line: number;
  body: string;
  side?: DiffSide | undefined;
  startLine?: number | null | undefined;
};

type Place = Pick<
  LineComment,
  "path" | "side" | "line" | "startLine" | "position" | "diffHunk" | "commitSha" | "mergeBaseSha" | "body"
>;

/**
 * Resolves to the places of comments' lines in a change. `missing` names the part of a comment that
 * isn't there.
 */
export async function placesOf(
  repository: Repository,
  { head, mergeBase }: { head: string; mergeBase: string },
  wanted: readonly NewLineComment[],
): Promise<{ places: Place[] } | { missing: "path" | "line" }> {
  if (wanted.length === 0) return { places: [] };
  const files = await changedFiles(repository, mergeBase, head);
  const places: Place[] = [];
  for (const { path, line, body, side = "RIGHT", startLine = null } of wanted) {
    const file = files.find(({ filename }) => filename === path);
    if (file === undefined) return { missing: "path" };
    const lines = linesOfPatch(file.patch ?? "");
    const at = lines.find(({ numbers }) => numbers[side] === line);
    if (at === undefined) return { missing: "line" };
    places.push({
      path,
      side,
      line,
      startLine,
      body,
      position: at.position,
      diffHunk: at.hunk,
      commitSha: head,
      mergeBaseSha: mergeBase,
    });
  }
  return { places };
}
