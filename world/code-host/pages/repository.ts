import { html } from "hono/html";
import type { WayBack } from "../host.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Repository } from "../repository.ts";
import { type Html, page, time } from "./layout.ts";
import { badge } from "./pull-request.ts";

export type RepositoryView = {
  repository: Repository;
  /** The default branch, whose files are listed. */
  branch: string;
  files: readonly string[];
  pullRequests: readonly PullRequest[];
  gitUrl: string;
  home: WayBack | null;
};

export function repositoryPage({
  repository,
  branch,
  files,
  pullRequests,
  gitUrl,
  home,
}: RepositoryView): Html {
  const root = `/${repository.fullName}`;
  const content = html`<h1>${repository.fullName}</h1>
    <p><code>git clone ${gitUrl}</code></p>
    <section aria-labelledby="pulls">
      <h2 id="pulls">Pull requests</h2>
      ${pullRequests.length === 0 ? html`<p class="quiet">None yet.</p>` : ""}
      <ul class="rows">
        ${pullRequests.toReversed().map(
          (pullRequest) =>
            html`<li>
              ${badge(pullRequest)}
              <a href="${root}/pull/${pullRequest.number}">${pullRequest.title}</a>
              <span class="quiet"
                >#${pullRequest.number} by ${pullRequest.author}, ${time(pullRequest.createdAt)}</span
              >
            </li>`,
        )}
      </ul>
    </section>
    <p>
      <a href="${root}/rules">Rules of <span class="branch">${branch}</span></a>
    </p>
    <section aria-labelledby="files">
      <h2 id="files">Files on <span class="branch">${branch}</span></h2>
      <ul class="rows">
        ${files.map((path) => html`<li><span class="path">${path}</span></li>`)}
      </ul>
    </section>`;
  return page({ title: repository.fullName, trail: [], home, content });
}

export function messagePage(title: string, text: string): Html {
  return page({
    title,
    trail: [],
    home: null,
    content: html`<h1>${title}</h1>
      <p>${text}</p>`,
  });
}
