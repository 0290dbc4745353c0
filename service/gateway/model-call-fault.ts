import { DocsAgentError } from "../../src/core/errors.ts";

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  415: "invalid_request_error",
  426: "invalid_request_error",
  429: "rate_limit_error",
};

/**
 * A model call that is refused. The message is for whoever reads the agent's output, and holds no
 * secret.
 */
export class ModelCallFault extends DocsAgentError {
  readonly code = "model_call";
  /** Of HTTP. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }

  /** The kind of fault, as providers name it. */
  get type(): string {
    return TYPES[this.status] ?? "api_error";
  }
}
