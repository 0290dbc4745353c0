import { DocsAgentError } from "../core/errors.ts";

/** Something outside keeps the program from starting. The message tells the operator what to do. */
export class StartError extends DocsAgentError {
  readonly code = "start";
}
