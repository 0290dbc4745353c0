import { DocsAgentError } from "../errors.ts";

/** The state cannot be dumped or loaded. The message is for the operator, with the remedy. */
export class StateError extends DocsAgentError {
  readonly code = "state";
}
