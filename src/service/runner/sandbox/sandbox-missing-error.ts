import { DocsAgentError } from "../../../errors.ts";

/** Agents can't be held in on this machine as it is. The message says what to do. */
export class SandboxMissingError extends DocsAgentError {
  readonly code = "sandbox_missing";

  constructor(why: string, remedy: string) {
    super(
      `Can't run agents in a sandbox: ${why}.\n${remedy}\nWithout a sandbox, an agent can read and send away all that the service's user can read. If you want that all the same, set containment to none.`,
    );
  }
}
