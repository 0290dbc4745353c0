import { DocsAgentError } from "../core/errors.ts";

/**
 * Something outside keeps the program from starting. The message is for the operator, with the
 * remedy.
 */
export class StartError extends DocsAgentError {
  readonly code = "start";
}
