import type { CodeHostFault, Traffic } from "./faults.ts";

type Refusal = {
  /** The requests that are refused. */
  of: RegExp;
  status: number;
  message: string;
  errors?: unknown[];
  headers?: Record<string, string>;
};

const REPLY = /^POST \S+\/pulls\/\d+\/comments(?:\/\d+\/replies)?$/;
const ASK_AGAIN = /^POST \S+\/pulls\/\d+\/requested_reviewers$/;
const DEPLOYMENTS = /^GET \S+\/deployments(?:[/?]\S*)?$/;
const UPDATE = /^PUT \S+\/pulls\/\d+\/update-branch$/;
const MERGE = /^POST \S+\/merges$/;
const MOVE = /^PATCH \S+\/git\/refs\//;
const ROLE = /^GET \S+\/collaborators\/[^/]+\/permission$/;

const NOT_ACCESSIBLE = "Resource not accessible by integration";
const SECONDARY_LIMIT =
  "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
const NO_WORKFLOWS =
  "refusing to allow a GitHub App to create or update workflow `.github/workflows/docs.yml` without " +
  "`workflows` permission";

/** A call that an App has no permission for, in GitHub's words and with its header. */
function notAccessible(of: RegExp, permission: string): Refusal {
  const headers = { "x-accepted-github-permissions": permission };
  return { of, status: 403, message: NOT_ACCESSIBLE, headers };
}

/** See docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api. */
function limited(of: RegExp): Refusal {
  return { of, status: 403, message: SECONDARY_LIMIT, headers: { "retry-after": "60" } };
}

/**
 * What GitHub answers to replies, review requests, updates and reads of deployments and permissions
 * when it refuses them. The statuses are those of its reference, the words those that people quote.
 */
const KNOWN = {
  "reply-not-accessible": notAccessible(REPLY, "pull_requests=write"),
  "reply-gone": { of: REPLY, status: 404, message: "Not Found" },
  "reply-locked": {
    of: REPLY,
    status: 422,
    message: "Unprocessable Entity",
    errors: ["lock prevents review"],
  },
  "reply-limited": limited(REPLY),
  "ask-again-not-accessible": notAccessible(ASK_AGAIN, "pull_requests=write"),
  "ask-again-author": {
    of: ASK_AGAIN,
    status: 422,
    message: "Review cannot be requested from pull request author.",
  },
  "ask-again-stranger": {
    of: ASK_AGAIN,
    status: 422,
    message:
      "Reviews may only be requested from collaborators. One or more of the users or teams you " +
      "specified is not a collaborator of the acme/docs repository.",
  },
  "deployments-not-accessible": notAccessible(DEPLOYMENTS, "deployments=read"),
  "deployments-gone": { of: DEPLOYMENTS, status: 404, message: "Not Found" },
  "deployments-limited": limited(DEPLOYMENTS),
  "update-not-accessible": notAccessible(UPDATE, "contents=write,pull_requests=write"),
  "update-head-moved": {
    of: UPDATE,
    status: 422,
    message: "expected head sha didn’t match current head ref.",
  },
  "update-conflict": { of: UPDATE, status: 422, message: "merge conflict between base and head" },
  "update-nothing-new": {
    of: UPDATE,
    status: 422,
    message: "There are no new commits on the base branch.",
  },
  "update-workflows": { of: UPDATE, status: 403, message: NO_WORKFLOWS },
  "update-limited": limited(UPDATE),
  "merge-not-accessible": notAccessible(MERGE, "contents=write"),
  "merge-conflict": { of: MERGE, status: 409, message: "Merge conflict" },
  "move-not-forward": { of: MOVE, status: 422, message: "Update is not a fast forward" },
  "move-rules": {
    of: MOVE,
    status: 422,
    message: "Repository rule violations found\n\nCannot update this protected ref.\n\n",
  },
  "role-not-visible": {
    of: ROLE,
    status: 403,
    message: "Must have push access to view collaborator permission.",
  },
  "role-unknown": { of: ROLE, status: 404, message: "Not Found" },
} satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof KNOWN;

/** Every refusal that {@link refusing} knows. */
export const REFUSAL_NAMES = Object.keys(KNOWN).filter((name): name is RefusalName => name in KNOWN);

/**
 * Makes a fault for `Traffic.fault`. What these refusals are about is refused; all else is served.
 */
export function refusing(...names: RefusalName[]): NonNullable<Traffic["fault"]> {
  const refusals: Refusal[] = names.map((name) => KNOWN[name]);
  return (request) => {
    const refusal = refusals.find(({ of }) => of.test(request));
    return refusal === undefined ? undefined : faultOf(refusal);
  };
}

function faultOf({ status, message, errors, headers = {} }: Refusal): CodeHostFault {
  const body = {
    message,
    ...(errors === undefined ? {} : { errors }),
    documentation_url: "https://docs.github.com/rest",
    status: String(status),
  };
  return {
    kind: "http",
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify(body),
  };
}
