import { DocsAgentError } from "../../errors.ts";

/** Another process runs the task by now: this one was silent for too long. What it still does counts for nothing. */
export class ClaimLostError extends DocsAgentError {
  readonly code = "claim_lost";

  constructor() {
    super("Another replica has taken over this task, because this one was silent for too long.");
  }
}
