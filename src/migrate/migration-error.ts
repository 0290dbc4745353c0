import { DocsAgentError } from "../errors.ts";

/** The migration can't begin or go on. The message is for the operator, with the remedy. */
export class MigrationError extends DocsAgentError {
  readonly code = "migration";
}
