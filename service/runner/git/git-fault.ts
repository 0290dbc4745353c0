import { endOf } from "../../base/printable-text.ts";
import { TransientRunError, TurnFailedError } from "../../base/run-error.ts";

/** A git command that contacted nobody failed. `detail` says which and how, for the operator. */
export class GitError extends TransientRunError {
  constructor(detail: string) {
    super("Git failed on the service's machine.", { details: [detail] });
  }
}

/**
 * A git command that contacted a remote failed, and its output doesn't tell which side is the
 * cause.
 */
export class UnclearRemoteError extends TransientRunError {}

/** The server no longer accepts the credentials, or doesn't for this. */
export class CredentialsRefusedError extends TurnFailedError {}

/** A branch has changed, or somebody else is changing it. */
export class RefConflictError extends TransientRunError {}

const MAX_DETAIL = 600;
const NETWORK = new RegExp(
  String.raw`could not resolve|failed to connect|couldn't connect|connection (?:refused|reset|` +
    String.raw`closed|timed out|was)|no route to host|timed out|early eof|unexpected disconnect|` +
    String.raw`hung up|empty reply|recv failure|send failure|transfer closed|too slow|rpc failed|` +
    String.raw`bad response|tls|gnutls|network is unreachable|proxy`,
  "i",
);
const CERTIFICATE = /certificate/i;
const AUTHENTICATION =
  /authentication failed|could not read (?:username|password)|terminal prompts disabled/i;
/**
 * Doesn't include git's "Could not read from remote repository", which it prints however ssh ended.
 */
const SSH =
  /permission denied \(|host key verification failed|permission to .+ denied|key .+ marked as read.only/i;
const NO_REPOSITORY =
  /repository .*not found|does not appear to be a git repository|not valid: is this a git repository/i;
const FOREIGN = /dubious ownership/i;
const NO_BRANCH = /couldn't find remote ref/i;
const RACE = new RegExp(
  String.raw`stale info|fetch first|non-fast-forward|cannot lock ref|` +
    String.raw`unable to create '[^']*\.lock'|failed to update ref|incorrect old value`,
  "i",
);
const REFUSED = /\[(?:remote )?rejected\]|pre-receive hook declined|protected branch/i;

/**
 * What the failure of a git command that contacted nobody means. `words` is its output, without
 * secrets.
 */
export function localFault(doing: string, words: string): GitError {
  return new GitError(`${doing}: ${detailOf(words)}`);
}

/**
 * What the failure of a git command that contacted a remote means. `words` is its output, without
 * secrets. The reason is for people, and the details say what to do.
 */
export function remoteFault(doing: string, words: string): TransientRunError | TurnFailedError {
  const said = `${doing}: ${detailOf(words)}`;
  const failed = (reason: string, advice: string) => new TurnFailedError(reason, { details: [advice, said] });
  const status = Number(/(?:returned error: |HTTP )(\d{3})/.exec(words)?.[1] ?? 0);
  if (status === 429 || status >= 500) {
    return new TransientRunError(`The git server answered ${status}.`, { details: [said] });
  }
  if (status === 401 || status === 403 || AUTHENTICATION.test(words)) {
    const advice = "Check the token's rights on the repository. An App needs contents: write.";
    return new CredentialsRefusedError("The git server refused the service's credentials.", {
      details: [advice, said],
    });
  }
  if (status === 404 || NO_REPOSITORY.test(words)) {
    return failed(
      "There is no such repository, or the service may not see it.",
      "Check the repository's address, and what the token for it may see.",
    );
  }
  if (status >= 300 && status < 400) {
    return failed("The repository has moved.", "Set the project's repository to its new URL.");
  }
  if (FOREIGN.test(words)) {
    return failed(
      "The service may not use the repository.",
      "It belongs to another user of this machine. Give it to the user that the service runs as.",
    );
  }
  if (NO_BRANCH.test(words)) {
    return failed(
      "The repository doesn't have the branch to start from.",
      "Check the project's baseBranch, and the ref of a context repository.",
    );
  }
  if (RACE.test(words)) return new RefConflictError("The branch changed meanwhile.", { details: [said] });
  if (REFUSED.test(words)) {
    return failed("The git server refused the push.", "Check the rules of its branches.");
  }
  if (CERTIFICATE.test(words)) {
    return failed(
      "The service doesn't trust the git server's certificate.",
      "Set SSL_CERT_FILE to a file with the certificate of whoever signed it.",
    );
  }
  if (status >= 400) return failed(`The git server answered ${status}.`, "");
  if (NETWORK.test(words)) {
    return new TransientRunError("The git server can't be reached.", { details: [said] });
  }
  if (SSH.test(words)) {
    return failed(
      "The git server refused the service's SSH key, or the service doesn't know the server.",
      "Check that the SSH agent has a key with rights on the repository, and that known_hosts has " +
        "the server.",
    );
  }
  return new UnclearRemoteError("Git failed with the git server.", { details: [said] });
}

function detailOf(words: string): string {
  return endOf(words.trim(), MAX_DETAIL);
}
