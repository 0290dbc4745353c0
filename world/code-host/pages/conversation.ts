import { html, raw } from "hono/html";
import type { Comment, GivenReview, PullRequest } from "../pull-request-store.ts";
import { type Html, time } from "./layout.ts";
import { markdownHtml } from "./markdown.ts";

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
const TONES = 6;

/** Draws reviews and comments in the order in which they came. */
export function conversation({ reviews, comments }: PullRequest): Html {
  const entries = [
    ...reviews.map((review) => ({ at: review.submittedAt, entry: reviewEntry(review) })),
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

function reviewEntry({ id, author, state, body, submittedAt }: GivenReview): Html {
  return html`<li id="review-${id}" class="entry ${TONE[state]}">
    ${initial(author)}
    <p class="said">
      <strong>${author}</strong> <span class="did">${DID[state]}</span>
      <span class="quiet">${time(submittedAt)}</span>
    </p>
    ${words(body)}
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

/** Draws a person's first letter in a color that is always theirs. */
export function initial(login: string): Html {
  const tone = ((login.codePointAt(0) ?? 0) + login.length) % TONES;
  return html`<span class="avatar tone-${tone}" aria-hidden="true">${login.slice(0, 1).toUpperCase()}</span>`;
}

/** Draws the form with which the visitor gives a review. `words` were already written. */
export function reviewForm(form: { action: string; token: string; visitor: string; words: string }): Html {
  return html`<section aria-labelledby="your-review">
    <h2 id="your-review">Your review</h2>
    <form class="review" method="post" action="${form.action}">
      <input type="hidden" name="token" value="${form.token}" />
      <label for="words">You are <strong>${form.visitor}</strong>. What do you say?</label>
      <textarea id="words" name="words" rows="4" maxlength="65536">${form.words}</textarea>
      <div class="buttons">
        <button class="good" name="state" value="APPROVED">Approve</button>
        <button class="bad" name="state" value="CHANGES_REQUESTED">Request changes</button>
        <button name="state" value="COMMENTED">Comment</button>
      </div>
    </form>
  </section>`;
}
