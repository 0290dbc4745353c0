import { html } from "hono/html";
import type { ChangedFile } from "../changed-files.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Branch, Commit, Repository, TreeFile } from "../repository.ts";
import { diffSection } from "./diff.ts";
import { type Html, page, pathOf, time } from "./layout.ts";
import { badge, commitList, stateOf } from "./pull-request.ts";

const MAX_FILE_CHARS = 300_000;

function tabs(repository: Repository, here: "files" | "pulls", openCount: number): Html {
  const root = `/${repository.fullName}`;
  const mark = (name: string) => (name === here ? html` aria-current="page"` : "");
  return html`<nav class="tabs" aria-label="Repository">
    <a href="${root}" ${mark("files")}>Files</a>
    <a href="${root}/pulls" ${mark("pulls")}>Pull requests <span class="count">${openCount}</span></a>
  </nav>`;
}

export function frontPage(repositories: { repository: Repository; openCount: number }[]): Html {
  const content = html`<h1>Repositories</h1>
    ${repositories.length === 0 ? html`<p class="quiet">There is none yet.</p>` : ""}
    <ul class="rows">
      ${repositories.map(
        ({ repository, openCount }) =>
          html`<li>
            <a href="/${repository.fullName}">${repository.fullName}</a>
            <span class="quiet"
              >${openCount === 1 ? "1 open pull request" : `${openCount} open pull requests`}</span
            >
          </li>`,
      )}
    </ul>`;
  return page({ title: "Repositories", trail: [], content });
}

export type BranchView = {
  repository: Repository;
  branch: string;
  branches: Branch[];
  files: TreeFile[];
  commits: Commit[];
  openCount: number;
  gitUrl: string;
};

export function branchPage(view: BranchView): Html {
  const { repository, branch, branches, files, commits } = view;
  const root = `/${repository.fullName}`;
  const content = html`<h1>${repository.fullName}</h1>
    ${tabs(repository, "files", view.openCount)}
    <p>Branch <span class="branch">${branch}</span> · <code>git clone ${view.gitUrl}</code></p>
    <section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <ul class="rows">
        ${files.map(
          ({ path, size }) =>
            html`<li>
              <a class="path" href="${root}/blob/${pathOf(branch)}/${pathOf(path)}">${path}</a>
              <span class="quiet">${size} bytes</span>
            </li>`,
        )}
      </ul>
    </section>
    <section aria-labelledby="branches">
      <h2 id="branches">Branches</h2>
      <ul class="rows">
        ${branches.map(
          ({ name }) =>
            html`<li>
              <a href="${root}/tree/${pathOf(name)}" ${name === branch ? html` aria-current="true"` : ""}
                >${name}</a
              >
            </li>`,
        )}
      </ul>
    </section>
    <section aria-labelledby="commits">
      <h2 id="commits">Newest commits</h2>
      ${commitList(repository, commits)}
    </section>`;
  return page({
    title: `${repository.fullName} at ${branch}`,
    trail: [{ label: repository.fullName, href: root }],
    content,
  });
}

export function filePage(repository: Repository, branch: string, path: string, text: string): Html {
  const root = `/${repository.fullName}`;
  const isBinary = text.includes("\0");
  const content = html`<h1 class="path">${path}</h1>
    <p>on <a class="branch" href="${root}/tree/${pathOf(branch)}">${branch}</a></p>
    ${
      isBinary
        ? html`<p class="quiet">A binary file.</p>`
        : html`<pre class="file" tabindex="0" aria-label="${`Text of ${path}`}">
${text.slice(0, MAX_FILE_CHARS)}</pre>`
    }
    ${text.length > MAX_FILE_CHARS ? html`<p class="quiet">Cut here: the file is longer.</p>` : ""}`;
  return page({ title: path, trail: [{ label: repository.fullName, href: root }], content });
}

export function commitPage(repository: Repository, commit: Commit, files: ChangedFile[], diff: string): Html {
  const content = html`<h1>${commit.subject === "" ? "(no message)" : commit.subject}</h1>
    <p class="quiet"><code>${commit.sha}</code> ${commit.author}, ${time(commit.date)}</p>
    ${diffSection(files, diff)}`;
  return page({
    title: commit.subject,
    trail: [{ label: repository.fullName, href: `/${repository.fullName}` }],
    content,
  });
}

export function pullRequestsPage(repository: Repository, pullRequests: readonly PullRequest[]): Html {
  const root = `/${repository.fullName}`;
  const openCount = pullRequests.filter((pullRequest) => stateOf(pullRequest) === "open").length;
  const content = html`<h1>Pull requests</h1>
    ${tabs(repository, "pulls", openCount)}
    ${pullRequests.length === 0 ? html`<p class="quiet">There is none yet.</p>` : ""}
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
    </ul>`;
  return page({ title: "Pull requests", trail: [{ label: repository.fullName, href: root }], content });
}

export function messagePage(title: string, text: string): Html {
  return page({
    title,
    trail: [],
    content: html`<h1>${title}</h1>
      <p>${text}</p>`,
  });
}
