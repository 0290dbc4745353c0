import { DocsAgentError } from "../errors.ts";

/** The task queue was stopped, and runs nothing any more. */
export class QueueStoppedError extends DocsAgentError {
  readonly code = "queue_stopped";

  constructor() {
    super("The task queue was stopped. Tasks that were added run after the next start of the process.");
  }
}
