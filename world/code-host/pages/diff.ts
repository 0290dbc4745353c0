import { html as drawDiff } from "diff2html";
import { ColorSchemeType } from "diff2html/lib/types.js";
import { html, raw } from "hono/html";
import type { ChangedFile } from "../changed-files.ts";
import type { Html } from "./layout.ts";

const MAX_DIFF_CHARS = 500_000;
const MARK: Record<ChangedFile["status"], string> = {
  added: "added",
  removed: "removed",
  modified: "changed",
  renamed: "renamed",
  copied: "copied",
  changed: "changed",
};

/** Draws the changed files as a list, and their diff below it. */
export function diffSection(files: ChangedFile[], diff: string): Html {
  const additions = files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0);
  return html`<section aria-labelledby="changes">
    <h2 id="changes">Changes</h2>
    <p>
      ${files.length === 1 ? "1 file" : `${files.length} files`}, <span class="plus">+${additions}</span> and
      <span class="minus">−${deletions}</span> lines
    </p>
    ${files.length > 1 ? fileList(files) : ""} ${drawn(diff)}
  </section>`;
}

function fileList(files: ChangedFile[]): Html {
  return html`<ul class="files">
    ${files.map(
      (file) =>
        html`<li>
          <span class="path"
            >${file.previousFilename === null ? "" : `${file.previousFilename} → `}${file.filename}</span
          >
          <span class="quiet"
            >${MARK[file.status]} <span class="plus">+${file.additions}</span>
            <span class="minus">−${file.deletions}</span></span
          >
        </li>`,
    )}
  </ul>`;
}

function drawn(diff: string): Html {
  if (diff === "") return html`<p class="quiet">Nothing is different.</p>`;
  if (diff.length > MAX_DIFF_CHARS) return html`<p class="quiet">The diff is too long to be shown here.</p>`;
  const drawing = drawDiff(diff, {
    outputFormat: "line-by-line",
    drawFileList: false,
    matching: "words",
    diffStyle: "word",
    colorScheme: ColorSchemeType.AUTO,
  });
  // diff2html escapes what it draws (a test checks that), and the pages' policy allows no script.
  return html`<div class="diff">${raw(drawing)}</div>`;
}
