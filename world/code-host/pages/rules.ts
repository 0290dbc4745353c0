import { html } from "hono/html";
import type { WayBack } from "../host.ts";
import type { Protection } from "../commit-records.ts";
import { type Html, page } from "./layout.ts";

const MOST_APPROVALS = 3;

/** Draws a page that shows a branch's rules and lets people change them. */
export function rulesPage(view: {
  fullName: string;
  branch: string;
  protection: Protection | null;
  token: string;
  isSaved: boolean;
  home: WayBack | null;
}): Html {
  const { fullName, branch, protection, token, isSaved, home } = view;
  const approvals = protection?.approvals ?? 0;
  const content = html`<h1>Rules of <span class="branch">${branch}</span></h1>
    <p>What has to be so before anything is merged into it.</p>
    ${isSaved ? html`<p class="note" role="status">Saved.</p>` : ""}
    <form class="rules" method="post" action="/${fullName}/rules">
      <input type="hidden" name="token" value="${token}" />
      <label for="approvals">Approvals</label>
      <select id="approvals" name="approvals">
        ${Array.from(
          { length: MOST_APPROVALS + 1 },
          (_, count) =>
            html`<option value="${count}" ${count === approvals ? "selected" : ""}>
              ${count === 0 ? "None needed" : count}
            </option>`,
        )}
      </select>
      <label for="checks">Required checks, separated by commas</label>
      <input
        id="checks"
        name="checks"
        maxlength="1000"
        value="${protection?.requiredChecks.join(", ") ?? ""}"
      />
      <label class="choice"
        ><input type="checkbox" name="strict" ${protection?.isStrict === true ? "checked" : ""} /> The branch
        has to be up to date</label
      >
      <label class="choice"
        ><input
          type="checkbox"
          name="dismiss"
          ${protection?.dismissesStaleReviews === true ? "checked" : ""}
        />
        New commits make earlier approvals void</label
      >
      <div class="buttons"><button class="primary" type="submit">Save</button></div>
    </form>`;
  return page({
    title: `Rules of ${branch}`,
    trail: [{ label: fullName, href: `/${fullName}` }],
    home,
    content,
  });
}
