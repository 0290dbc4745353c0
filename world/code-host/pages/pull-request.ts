import { html, raw } from "hono/html";
import type { ChangedFile } from "../changed-files.ts";
import type { WayBack } from "../host.ts";
import type { LineThread } from "../line-threads.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Commit, Repository } from "../repository.ts";
import { conversation, reviewForm } from "./conversation.ts";
import { diffSection } from "./diff.ts";
import { type Html, page, time } from "./layout.ts";
import { lineChoices, lineFields } from "./line-choices.ts";
import { markdownHtml } from "./markdown.ts";
import { type MergeBox, mergeBox } from "./merge-box.ts";

export type PullRequestView = Omit<MergeBox, "root"> & {
  repository: Repository;
  commits: Commit[];
  files: ChangedFile[];
  diff: string;
  threads: readonly LineThread[];
  visitor: string;
  home: WayBack | null;
  /** The reason why the last button didn't do what it says. */
  problem?: string | undefined;
  /** The text in the field for a review. */
  words?: string | undefined;
};

function stateOf(pullRequest: PullRequest): "open" | "merged" | "closed" {
  return pullRequest.mergedAt === null ? pullRequest.state : "merged";
}

export function badge(pullRequest: PullRequest): Html {
  const state = stateOf(pullRequest);
  if (state === "open" && pullRequest.isDraft) return html`<span class="badge draft">Draft</span>`;
  const label = { open: "Open", merged: "Merged", closed: "Closed" }[state];
  return html`<span class="badge ${state}">${label}</span>`;
}

export function pullRequestPage(view: PullRequestView): Html {
  const { repository, pullRequest, commits, files, diff } = view;
  const { number, title, author, head, base } = pullRequest;
  const root = `/${repository.fullName}`;
  const body = markdownHtml(pullRequest.body ?? "").trim();
  const content = html`<h1>${title} <span class="quiet">#${number}</span></h1>
    <p class="byline">
      ${badge(pullRequest)}
      <span
        ><strong>${author}</strong> ${pullRequest.state === "open" ? "wants to merge" : "wanted to merge"}
        <span class="branch">${head}</span> → <span class="branch">${base}</span></span
      >
      <span class="quiet">opened ${time(pullRequest.createdAt)}</span>
    </p>
    ${peopleLine(pullRequest)}
    ${view.problem === undefined ? "" : html`<p class="problem" role="alert">${view.problem}</p>`}
    <div class="sides">
      ${mergeBox({ ...view, root })}
      <div>
        <section aria-labelledby="description">
          <h2 id="description">Description</h2>
          ${
            body === ""
              ? html`<p class="quiet">No description.</p>`
              : html`<div class="body">${raw(body)}</div>`
          }
        </section>
        ${conversation(pullRequest, view.threads, {
          path: `${root}/pull/${number}`,
          isOpen: pullRequest.state === "open",
          tokenFor: view.tokenFor,
        })}
        ${
          pullRequest.state === "open"
            ? reviewForm({
                action: `${root}/pull/${number}/review`,
                token: view.tokenFor("review"),
                visitor: view.visitor,
                words: view.words ?? "",
                lines: lineFields(lineChoices(files)),
              })
            : ""
        }
      </div>
    </div>
    <section aria-labelledby="commits">
      <h2 id="commits">Commits</h2>
      ${commitList(commits)}
    </section>
    ${diffSection(files, diff)}`;
  return page({
    title: `${title} #${number}`,
    trail: [{ label: repository.fullName, href: `/${repository.fullName}` }],
    home: view.home,
    content,
  });
}

function peopleLine({ labels, assignees }: PullRequest): Html {
  const parts = [
    ["Labels", labels],
    ["Assigned to", assignees],
  ] as const;
  const shown = parts.flatMap(([name, list]) => (list.length === 0 ? [] : `${name}: ${list.join(", ")}`));
  return html`${shown.length === 0 ? "" : html`<p class="quiet">${shown.join(" · ")}</p>`}`;
}

function commitList(commits: Commit[]): Html {
  if (commits.length === 0) return html`<p class="quiet">No commits.</p>`;
  return html`<ol class="commits">
    ${commits.map(
      ({ sha, subject, author, date }) =>
        html`<li>
          ${subject === "" ? "(no message)" : subject}
          <span class="quiet"><code>${sha.slice(0, 7)}</code> ${author}, ${time(date)}</span>
        </li>`,
    )}
  </ol>`;
}
