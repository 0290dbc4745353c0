import { html, raw } from "hono/html";
import type { LineThread } from "../line-threads.ts";
import type { Comment, GivenReview, PullRequest } from "../pull-request-store.ts";
import { type Html, initial, time } from "./layout.ts";
import { markdownHtml } from "./markdown.ts";
import { threadEntry, type ThreadForms } from "./threads.ts";

const DID: Record<GivenReview["state"], string> = {
  APPROVED: "approved these changes",
  CHANGES_REQUESTED: "requested changes",
  COMMENTED: "reviewed",
  DISMISSED: "gave a review that no longer counts",
};
const TONE: Record<GivenReview["state"], string> = {
  APPROVED: "good",
  CHANGES_REQUESTED: "bad",
  COMMENTED: "plain",
  DISMISSED: "plain",
};

/** Draws reviews and comments in the order in which they came. */
export function conversation(
  { reviews, comments }: PullRequest,
  threads: readonly LineThread[],
  forms: ThreadForms,
): Html {
  const entries = [
    ...reviews.flatMap((review) => {
      const own = threads.filter(({ first }) => first.reviewId === review.id);
      const isReply = threads.some(({ replies }) => replies.some(({ reviewId }) => reviewId === review.id));
      // A reply is shown in its thread.
      return isReply ? [] : { at: review.submittedAt, entry: reviewEntry(review, own, forms) };
    }),
    ...comments.map((comment) => ({ at: comment.createdAt, entry: commentEntry(comment) })),
  ].toSorted((one, other) => one.at.localeCompare(other.at));
  if (entries.length === 0) return html``;
  return html`<section aria-labelledby="conversation">
    <h2 id="conversation">Conversation</h2>
    <ol class="entries">
      ${entries.map(({ entry }) => entry)}
    </ol>
  </section>`;
}

function reviewEntry(
  { id, author, state, body, submittedAt }: GivenReview,
  threads: readonly LineThread[],
  forms: ThreadForms,
): Html {
  return html`<li id="review-${id}" class="entry ${TONE[state]}">
    ${initial(author)}
    <p class="said">
      <strong>${author}</strong> <span class="did">${DID[state]}</span>
      <span class="quiet">${time(submittedAt)}</span>
    </p>
    ${words(body)}
    ${
      threads.length === 0
        ? ""
        : html`<div class="threads">${threads.map((thread) => threadEntry(thread, forms))}</div>`
    }
  </li>`;
}

function commentEntry({ id, author, body, createdAt }: Comment): Html {
  return html`<li id="comment-${id}" class="entry plain">
    ${initial(author)}
    <p class="said"><strong>${author}</strong> commented <span class="quiet">${time(createdAt)}</span></p>
    ${words(body)}
  </li>`;
}

function words(body: string): Html {
  return body.trim() === "" ? html`` : html`<div class="body">${raw(markdownHtml(body))}</div>`;
}

/** Draws the form with which the visitor gives a review. `words` were already written. */
export function reviewForm(form: {
  action: string;
  token: string;
  visitor: string;
  words: string;
  lines: Html;
}): Html {
  return html`<section aria-labelledby="your-review">
    <h2 id="your-review">Your review</h2>
    <form class="review" method="post" action="${form.action}">
      <input type="hidden" name="token" value="${form.token}" />
      <label for="words">You are <strong>${form.visitor}</strong>. What do you say?</label>
      <textarea id="words" name="words" rows="4" maxlength="65536">${form.words}</textarea>
      ${form.lines}
      <div class="buttons">
        <button class="good" name="state" value="APPROVED">Approve</button>
        <button class="bad" name="state" value="CHANGES_REQUESTED">Request changes</button>
        <button name="state" value="COMMENTED">Comment</button>
      </div>
    </form>
  </section>`;
}
