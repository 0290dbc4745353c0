import { html } from "hono/html";
import type { WayBack } from "../host.ts";
import type { Protection } from "../commit-records.ts";
import { type Role, ROLES } from "../permissions.ts";
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
  people: { roles: ReadonlyMap<string, Role>; token: string };
}): Html {
  const { fullName, branch, protection, token, isSaved, home, people } = view;
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
    </form>
    ${peopleSection(fullName, people)}`;
  return page({
    title: `Rules of ${branch}`,
    trail: [{ label: fullName, href: `/${fullName}` }],
    home,
    content,
  });
}

function peopleSection(
  fullName: string,
  { roles, token }: { roles: ReadonlyMap<string, Role>; token: string },
): Html {
  return html`<section aria-labelledby="people">
    <h2 id="people">People</h2>
    <p>Everybody may write, except those whose role says less. The host forgets roles when it ends.</p>
    <ul class="rows">
      ${[...roles].map(
        ([login, role]) =>
          html`<li><span class="grow">${login}</span> <span class="quiet">${role}</span></li>`,
      )}
    </ul>
    <form class="rules" method="post" action="/${fullName}/people">
      <input type="hidden" name="token" value="${token}" />
      <label for="login">Login</label>
      <input id="login" name="login" maxlength="100" required />
      <label for="role">Role</label>
      <select id="role" name="role">
        ${ROLES.map((role) => html`<option ${role === "write" ? "selected" : ""}>${role}</option>`)}
      </select>
      <div class="buttons"><button type="submit">Give this role</button></div>
    </form>
  </section>`;
}
