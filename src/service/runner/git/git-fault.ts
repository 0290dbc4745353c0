import { DocsAgentError } from "../../../errors.ts";
import { endOf } from "../../printable-text.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";

/** A git command that talked to nobody failed. */
export class GitError extends DocsAgentError {
  readonly code = "git";
}

/** A git command that talked to a remote failed, and its words don't tell on which side. */
export class UnclearRemoteError extends TransientRunError {}

/** A branch is not what it was, or somebody else is changing it. */
export class RefConflictError extends TransientRunError {}

const MAX_DETAIL = 600;
const NETWORK =
  /could not resolve|failed to connect|couldn't connect|connection (?:refused|reset|closed|timed out|was)|no route to host|timed out|early eof|unexpected disconnect|hung up|empty reply|recv failure|send failure|transfer closed|too slow|rpc failed|bad response|tls|gnutls|network is unreachable/i;
const CERTIFICATE = /certificate/i;
const AUTHENTICATION =
  /authentication failed|could not read (?:username|password)|terminal prompts disabled/i;
/** Not git's "Could not read from remote repository", which it says however ssh ended. */
const SSH =
  /permission denied \(|host key verification failed|permission to .+ denied|key .+ marked as read.only/i;
const NO_REPOSITORY =
  /repository .*not found|does not appear to be a git repository|not valid: is this a git repository/i;
const FOREIGN = /dubious ownership/i;
const NO_BRANCH = /couldn't find remote ref/i;
const RACE =
  /stale info|fetch first|non-fast-forward|cannot lock ref|unable to create '[^']*\.lock'|failed to update ref|incorrect old value/i;
const REFUSED = /\[(?:remote )?rejected\]|pre-receive hook declined|protected branch/i;

/** What a failed git command that talked to nobody means. `words` is what it wrote, without secrets. */
export function localFault(doing: string, words: string): GitError {
  return new GitError(`${doing}: ${detailOf(words)}`);
}

/** What a failed git command that talked to a remote means. `words` is what it wrote, without secrets. */
export function remoteFault(doing: string, words: string): TransientRunError | TurnFailedError {
  const detail = detailOf(words);
  const status = Number(/(?:returned error: |HTTP )(\d{3})/.exec(words)?.[1] ?? 0);
  if (status === 429 || status >= 500) {
    return new TransientRunError(`${doing}: the git server answered ${status}.`);
  }
  if (status === 401 || status === 403 || AUTHENTICATION.test(words)) {
    return new TurnFailedError(
      `${doing}: the git server refused the credentials. Check the token's rights on the repository. ${detail}`,
    );
  }
  if (status === 404 || NO_REPOSITORY.test(words)) {
    return new TurnFailedError(
      `${doing}: there is no such repository, or the token may not see it. Check the project's repository. ${detail}`,
    );
  }
  if (status >= 300 && status < 400) {
    return new TurnFailedError(
      `${doing}: the repository has moved. Put its new URL into the project's settings. ${detail}`,
    );
  }
  if (FOREIGN.test(words)) {
    return new TurnFailedError(
      `${doing}: the repository belongs to another user of this machine. Give it to the user that the service runs as.`,
    );
  }
  if (NO_BRANCH.test(words)) {
    return new TurnFailedError(
      `${doing}: the base branch does not exist. Check the project's baseBranch. ${detail}`,
    );
  }
  if (RACE.test(words)) return new RefConflictError(`${doing}: the branch changed meanwhile.`);
  if (REFUSED.test(words)) {
    return new TurnFailedError(
      `${doing}: the git server refused the push. Check the rules of its branches. ${detail}`,
    );
  }
  if (CERTIFICATE.test(words)) {
    return new TurnFailedError(`${doing}: the git server's certificate is not trusted. ${detail}`);
  }
  if (status >= 400) return new TurnFailedError(`${doing}: the git server answered ${status}. ${detail}`);
  if (NETWORK.test(words)) {
    return new TransientRunError(`${doing}: the git server cannot be reached. ${detail}`);
  }
  if (SSH.test(words)) {
    return new TurnFailedError(
      `${doing}: the git server refused the ssh key, or isn't known here. Check that the ssh agent has a key with rights on the repository, and that known_hosts has the server. ${detail}`,
    );
  }
  return new UnclearRemoteError(`${doing}: ${detail}`);
}

function detailOf(words: string): string {
  return endOf(words.trim(), MAX_DETAIL);
}
