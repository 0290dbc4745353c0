import { html } from "hono/html";
import { z } from "zod";
import type { ChangedFile } from "../changed-files.ts";
import { DiffSide } from "../line-comment.ts";
import type { NewLineComment } from "../line-places.ts";
import { linesOfPatch } from "../patch-lines.ts";
import type { Html } from "./layout.ts";

/** The number of comments on lines that fit in the form for a review. */
const ROWS = [1, 2, 3] as const;
const MAX_CHOICES = 200;
const MAX_LABEL_CHARS = 70;

/** A line that a person can comment on. */
type LineChoice = { value: string; label: string };

/** Returns the lines that a change adds or removes, for a person to choose from. */
export function lineChoices(files: readonly ChangedFile[]): LineChoice[] {
  const choices = files.flatMap(({ filename, patch }) =>
    linesOfPatch(patch ?? "").flatMap(({ numbers, text }) => {
      const { LEFT: left, RIGHT: right } = numbers;
      if (left !== null && right !== null) return [];
      const side = right === null ? "LEFT" : "RIGHT";
      const label = `${filename}:${right ?? left} ${right === null ? "−" : "+"} ${text}`;
      const value = `${side}:${right ?? left}:${filename}`;
      return { value, label: label.slice(0, MAX_LABEL_CHARS) };
    }),
  );
  return choices.slice(0, MAX_CHOICES);
}

/** Draws the fields for comments on lines. */
export function lineFields(choices: readonly LineChoice[]): Html {
  if (choices.length === 0) return html``;
  return html`<details class="on-lines">
    <summary>Comment on lines</summary>
    ${ROWS.map(
      (row) =>
        html`<div class="on-line">
          <select name="line${row}" aria-label="Line of comment ${row}">
            <option value="">Choose a line</option>
            ${choices.map(({ value, label }) => html`<option value="${value}">${label}</option>`)}
          </select>
          <textarea name="say${row}" aria-label="Comment ${row}" rows="2" maxlength="65536"></textarea>
        </div>`,
    )}
  </details>`;
}

const Chosen = z.tuple([DiffSide, z.coerce.number().int().positive(), z.string().min(1)]);

/** Reads the comments on lines from a form. Null if one has no line. */
export function lineCommentsIn(form: Record<string, unknown>): NewLineComment[] | null {
  const comments: NewLineComment[] = [];
  for (const row of ROWS) {
    const { [`say${row}`]: said, [`line${row}`]: chosen } = form;
    if (typeof said !== "string" || said.trim() === "") continue;
    const [side, line, ...path] = typeof chosen === "string" ? chosen.split(":") : [];
    const { data } = Chosen.safeParse([side, line, path.join(":")]);
    if (data === undefined) return null;
    comments.push({ side: data[0], line: data[1], path: data[2], body: said });
  }
  return comments;
}
