import { DocsAgentError } from "../../src/shared/errors.ts";

/** The code host can't work: git is missing or failed, or its stored data can't be read. */
export class CodeHostError extends DocsAgentError {
  override readonly code = "code-host";
}
