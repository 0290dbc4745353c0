import { DocsAgentError } from "../../src/core/errors.ts";

export type FaultStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 500 | 503;

/**
 * A request that is refused. The message is the answer's `error` text: for the client, without
 * anything internal.
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

/** The words for a part of a request that isn't right. */
export function mustBe(field: string, rule: string): string {
  return `${field} must be ${rule}.`;
}
