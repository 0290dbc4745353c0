import { html } from "hono/html";
import { type Check, type CheckState, opinionsOf } from "../merge-state.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Protection } from "../commit-records.ts";
import { type Html, initial, time } from "./layout.ts";

export type MergeBox = {
  /** The repository's address. */
  root: string;
  pullRequest: PullRequest;
  checks: readonly Check[];
  protection: Protection | null;
  /** The reasons of the branch's rules against a merge. */
  rules: readonly string[];
  /** The paths that prevent a merge. */
  conflicts: readonly string[];
  tokenFor: (action: string) => string;
};

const CHECKS: Record<CheckState, { mark: string; tone: string; word: string }> = {
  passed: { mark: "✓", tone: "good", word: "Passed" },
  failing: { mark: "✕", tone: "bad", word: "Failed" },
  pending: { mark: "•", tone: "busy", word: "Running" },
  expected: { mark: "•", tone: "busy", word: "Expected" },
};
const RESULTS = [
  ["passed", "Pass"],
  ["failed", "Fail"],
  ["pending", "Run"],
] as const;

/** Draws the state of a pull request: reviews, checks, what prevents a merge, and the buttons. */
export function mergeBox(box: MergeBox): Html {
  return html`<aside class="box" aria-label="Where it stands">
    ${reviewers(box)} ${checkList(box)} ${decision(box)}
  </aside>`;
}

function reviewers({ pullRequest, protection }: MergeBox): Html {
  const opinions = opinionsOf(pullRequest);
  const approvals = opinions.filter(({ state }) => state === "APPROVED").length;
  const needed = protection?.approvals ?? 0;
  const rows = [
    ...opinions.map(({ author, state }) => ({ name: author, isApproval: state === "APPROVED" })),
    ...pullRequest.reviewers.map((name) => ({ name, isApproval: null })),
  ];
  return html`<section aria-labelledby="reviews">
    <h2 id="reviews">Reviews</h2>
    ${rows.length === 0 ? html`<p class="quiet">None yet.</p>` : ""}
    <ul class="rows">
      ${rows.map(
        ({ name, isApproval }) =>
          html`<li>
            ${initial(name)}<span class="grow">${name}</span>
            ${
              isApproval === null
                ? html`<span class="quiet">Waiting</span>`
                : isApproval
                  ? html`<span class="plus">Approved</span>`
                  : html`<span class="minus">Requested changes</span>`
            }
          </li>`,
      )}
    </ul>
    ${needed === 0 ? "" : html`<p class="quiet">${approvals} of ${needed} required approvals</p>`}
  </section>`;
}

function checkList({ root, pullRequest, checks, tokenFor }: MergeBox): Html {
  const isOpen = pullRequest.state === "open";
  const action = `${root}/pull/${pullRequest.number}/check`;
  return html`<section aria-labelledby="checks">
    <h2 id="checks">Checks</h2>
    ${checks.length === 0 ? html`<p class="quiet">None yet.</p>` : ""}
    <ul class="rows">
      ${checks.map((check) => {
        const { mark, tone, word } = CHECKS[check.state];
        return html`<li class="check">
          <span class="mark ${tone}" aria-hidden="true">${mark}</span>
          <span class="grow"
            >${check.name} ${check.isRequired ? html`<span class="tag">Required</span>` : ""}</span
          >
          ${isOpen ? resultButtons(action, tokenFor("check"), check.name) : ""}
          <span class="quiet result">${word}${check.summary === null ? "" : `: ${check.summary}`}</span>
          ${checkReport(check)}
        </li>`;
      })}
    </ul>
    ${
      isOpen
        ? html`<form class="line" method="post" action="${action}">
            <input type="hidden" name="token" value="${tokenFor("check")}" />
            <input type="hidden" name="result" value="pending" />
            <input
              name="name"
              aria-label="Name of a new check"
              placeholder="New check"
              maxlength="100"
              required
            />
            <button class="small" type="submit">Add</button>
            <details class="report">
              <summary>What it says</summary>
              <input name="summary" aria-label="Summary" placeholder="Summary" maxlength="1000" />
              <textarea name="text" aria-label="Text" placeholder="Text" rows="2"></textarea>
              <textarea
                name="lines"
                aria-label="Lines"
                placeholder="docs/page.md:12 what is wrong"
                rows="2"
              ></textarea>
              <input name="link" type="url" aria-label="Link" placeholder="https://" maxlength="2000" />
            </details>
          </form>`
        : ""
    }
  </section>`;
}

/** Draws what a check says besides its summary. */
function checkReport({ name, text, annotations, link }: Check): Html {
  const address = link !== null && /^https?:/.test(link) ? link : null;
  if (text === null && annotations.length === 0 && address === null) return html``;
  return html`<details class="report">
    <summary>What <span class="branch">${name}</span> says</summary>
    ${text === null ? "" : html`<p>${text}</p>`}
    ${annotations.map(
      ({ path, startLine, message }) =>
        html`<p><span class="path">${path}:${startLine}</span> ${message}</p>`,
    )}
    ${address === null ? "" : html`<a href="${address}" rel="noreferrer">Details of ${name}</a>`}
  </details>`;
}

function resultButtons(action: string, token: string, name: string): Html {
  return html`<form class="results" method="post" action="${action}">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="name" value="${name}" />
    ${RESULTS.map(
      ([result, word]) =>
        html`<button class="small" name="result" value="${result}" aria-label="${word} ${name}">
          ${word}
        </button>`,
    )}
  </form>`;
}

function decision(box: MergeBox): Html {
  const { pullRequest, conflicts, rules, checks } = box;
  const { mergedAt, mergedBy, closedAt } = pullRequest;
  if (mergedAt !== null) {
    return html`<p class="verdict merged">
      Merged${mergedBy === null ? "" : html` by <strong>${mergedBy}</strong>`}, ${time(mergedAt)}.
    </p>`;
  }
  if (pullRequest.state === "closed") {
    return html`<section class="actions" aria-label="Decide">
      <p class="verdict closed">
        Closed without merging${closedAt === null ? "" : html`, ${time(closedAt)}`}.
      </p>
      <div class="buttons">${button(box, "reopen", "Reopen")}</div>
    </section>`;
  }
  const base = html`<span class="branch">${pullRequest.base}</span>`;
  const isBlocked = conflicts.length > 0 || rules.length > 0;
  return html`<section class="actions" aria-label="Decide">
    ${
      conflicts.length > 0
        ? html`<p class="verdict bad">Cannot be merged: it conflicts with ${base} in</p>
            <ul>
              ${conflicts.map((conflict) => html`<li><code>${conflict}</code></li>`)}
            </ul>`
        : rules.length > 0
          ? html`<p class="verdict busy">
                Not yet: <a href="${box.root}/rules">${pullRequest.base}'s rules</a> aren't met.
              </p>
              <ul>
                ${rules.map((rule) => html`<li>${rule}</li>`)}
              </ul>`
          : checks.some(({ state }) => state === "failing")
            ? html`<p class="verdict busy">Can be merged, but a check failed.</p>`
            : html`<p class="verdict good">Ready. No conflicts with ${base}.</p>`
    }
    <div class="buttons">
      ${button(box, "merge", "Merge", isBlocked)}
      ${pullRequest.isDraft ? button(box, "ready", "Ready for review") : ""} ${button(box, "close", "Close")}
    </div>
  </section>`;
}

function button(
  { root, pullRequest, tokenFor }: MergeBox,
  action: string,
  label: string,
  isOff = false,
): Html {
  return html`<form method="post" action="${root}/pull/${pullRequest.number}/${action}">
    <input type="hidden" name="token" value="${tokenFor(action)}" />
    <button class="${action === "merge" ? "primary" : ""}" type="submit" ${isOff ? "disabled" : ""}>
      ${label}
    </button>
  </form>`;
}
