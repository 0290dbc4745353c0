import { DocsAgentError } from "../../src/shared/errors.ts";

/**
 * The code host cannot do its work: git is missing or failed, or its stored data cannot be read.
 */
export class CodeHostError extends DocsAgentError {
  override readonly code = "code-host";
}
