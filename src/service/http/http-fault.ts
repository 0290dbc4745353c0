import { DocsAgentError } from "../../shared/errors.ts";

export type FaultStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 426 | 429 | 500 | 503;

/**
 * A refused request. The message becomes the answer's `error`: it is for the client, and contains
 * nothing internal.
 */
export class HttpFault extends DocsAgentError {
  readonly code = "http_fault";
  readonly status: FaultStatus;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: FaultStatus, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The message for a part of a request that isn't right. */
export function mustBe(field: string, rule: string): string {
  return `${field} must be ${rule}.`;
}
