import { DocsAgentError } from "../../errors.ts";

/** What a check throws: what is wrong, and what to do. */
export class CheckFault extends DocsAgentError {
  readonly code = "check";
}
