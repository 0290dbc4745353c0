import { html, raw } from "hono/html";
import type { LineComment } from "../line-comment.ts";
import type { LineThread } from "../line-threads.ts";
import { initial, type Html, time } from "./layout.ts";
import { markdownHtml } from "./markdown.ts";

const SHOWN_LINES = 5;

/** Where the forms of an open pull request's threads lead, and their tokens. */
export type ThreadForms = { path: string; isOpen: boolean; tokenFor: (action: string) => string };

/** Draws a thread: its line, what was said of it, and the forms to reply and to resolve it. */
export function threadEntry(thread: LineThread, forms: ThreadForms): Html {
  const { first, now } = thread;
  const where = html`<span class="path">${first.path}</span> line
    ${now?.line ?? first.line}${now === null ? html` <span class="tag">Outdated</span>` : ""}`;
  const content = html`<pre class="hunk" tabindex="0" aria-label="The lines above"><code>${hunkLines(
      first.diffHunk,
    )}</code></pre>
    <ol class="entries">
      ${[first, ...thread.replies].map(entry)}
    </ol>
    ${forms.isOpen ? threadForms(thread, forms) : ""}`;
  return first.resolvedBy === null
    ? html`<div class="thread" id="discussion_r${first.id}">
        <p class="where">${where}</p>
        ${content}
      </div>`
    : html`<details class="thread" id="discussion_r${first.id}">
        <summary>${where} <span class="quiet">Resolved by ${first.resolvedBy}</span></summary>
        ${content}
      </details>`;
}

/** Returns the last lines of a hunk, which end with the line that a comment is about. */
function hunkLines(hunk: string): Html[] {
  const lines = hunk.split("\n").slice(1).slice(-SHOWN_LINES);
  return lines.map((line) => {
    const tone = line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "";
    return html`<span class="${tone}">${line}</span>${"\n"}`;
  });
}

function entry({ id, author, body, createdAt, inReplyTo }: LineComment): Html {
  return html`<li id="comment-${id}" class="entry plain">
    ${initial(author)}
    <p class="said">
      <strong>${author}</strong> ${inReplyTo === null ? "commented" : "replied"}
      <span class="quiet">${time(createdAt)}</span>
    </p>
    <div class="body">${raw(markdownHtml(body))}</div>
  </li>`;
}

function threadForms({ first }: LineThread, { path, tokenFor }: ThreadForms): Html {
  const isResolved = first.resolvedBy !== null;
  const action = isResolved ? "unresolve" : "resolve";
  const where = `${first.path} line ${first.line}`;
  return html`<form class="line" method="post" action="${path}/reply">
      <input type="hidden" name="token" value="${tokenFor("reply")}" />
      <input type="hidden" name="thread" value="${first.id}" />
      <input name="words" aria-label="Reply about ${where}" placeholder="Reply" maxlength="10000" required />
      <button class="small" type="submit">Reply</button>
    </form>
    <form method="post" action="${path}/${action}">
      <input type="hidden" name="token" value="${tokenFor(action)}" />
      <input type="hidden" name="thread" value="${first.id}" />
      <button class="small" type="submit" aria-label="${isResolved ? "Reopen" : "Resolve"} ${where}">
        ${isResolved ? "Reopen" : "Resolve"}
      </button>
    </form>`;
}
