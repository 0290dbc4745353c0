import { DocsAgentError } from "../../../errors.ts";

/** Agents can't be held in on this machine as it is. The message says what to do. */
export class SandboxMissingError extends DocsAgentError {
  readonly code = "sandbox_missing";

  constructor(why: string, remedy: string) {
    super(
      `Agents cannot be held in: ${why}.\n${remedy}\nAn agent that is not held in can read and send away all that the service's user can read. If you want that all the same, put "containment: none" into the settings file.`,
    );
  }
}
