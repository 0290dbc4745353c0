import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { PullRequestRefusal } from "../pull-requests.ts";

const DOCUMENTATION_URL = "https://docs.github.com/rest";

/** An error of a field. Most are objects, and some are only a sentence. */
export type FieldError =
  | string
  | {
      resource: string;
      code: "custom" | "invalid" | "missing_field";
      field?: string;
      message?: string;
    };

/** An answer of the API instead of a result: GitHub's error body and its status. */
export class ApiRefusal extends Error {
  readonly status: ContentfulStatusCode;
  readonly errors: FieldError[] | undefined;

  constructor(status: ContentfulStatusCode, message: string, errors?: FieldError[]) {
    super(message);
    this.status = status;
    this.errors = errors;
  }

  body(): object {
    const { message, errors, status } = this;
    return {
      message,
      ...(errors === undefined ? {} : { errors }),
      documentation_url: DOCUMENTATION_URL,
      status: String(status),
    };
  }
}

export function notFound(): ApiRefusal {
  return new ApiRefusal(404, "Not Found");
}

export function validationFailed(...errors: FieldError[]): ApiRefusal {
  return new ApiRefusal(422, "Validation Failed", errors);
}

/** Returns GitHub's answer if something can't be done with a pull request. */
export function refusalOf(refusal: PullRequestRefusal, owner: string): ApiRefusal {
  const resource = "PullRequest";
  switch (refusal.kind) {
    case "invalid-field":
      return validationFailed({ resource, field: refusal.field, code: "invalid" });
    case "no-commits":
      return custom(`No commits between ${refusal.base} and ${refusal.head}`);
    case "exists":
      return custom(`A pull request already exists for ${owner}:${refusal.head}.`);
    case "cannot-reopen":
      return validationFailed({
        resource,
        code: "invalid",
        field: "state",
        message: `state cannot be changed. ${refusal.why}`,
      });
    case "not-open":
    case "conflict":
      return new ApiRefusal(405, "Pull Request is not mergeable");
    case "rules":
      return new ApiRefusal(405, refusal.why.join("\n"));
    case "own-pull-request":
      return new ApiRefusal(422, "Unprocessable Entity", ["Can not approve your own pull request"]);
    case "no-words":
      return new ApiRefusal(422, "Unprocessable Entity", ["Review Can not be blank"]);
    case "no-such-line":
      return new ApiRefusal(422, "Unprocessable Entity", [
        refusal.what === "commit_id"
          ? "commit_id is not part of the pull request"
          : `${refusal.what === "path" ? "Path" : "Line"} could not be resolved`,
      ]);
    case "head-moved":
      return new ApiRefusal(409, "Head branch was modified. Review and try the merge again.");
  }
}

function custom(message: string): ApiRefusal {
  return validationFailed({ resource: "PullRequest", code: "custom", message });
}
