import { endOf } from "../../../base/printable-text.ts";
import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import { knownRefusal, quotedLine } from "../../../pulls/code-host/refusals.ts";

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

/** Another branch has a name that git can't have beside this one. */
export class BranchInTheWayError extends TurnFailedError {
  constructor(branch: string | null, details: readonly string[] = []) {
    const [named, it] = branch === null ? ["Another branch", "it"] : [`The branch ${branch}`, branch];
    const advice = `Rename or remove ${it} in the repository, or set another pullRequests.branchPrefix.`;
    super(`${named} is in the way of the service's branch.`, { details: [advice, ...details] });
  }
}

/** What git wrote, without secrets. */
type GitOutput = { stdout: string; stderr: string };
type RemoteFault = TransientRunError | TurnFailedError;

const MAX_DETAIL = 600;

/** What the failure of a git command that contacted nobody means. */
export function localFault(doing: string, { stderr }: GitOutput): GitError {
  return new GitError(`${doing}: ${detailOf(stderr)}`);
}

/**
 * What the failure of a git command that contacted a remote means. Git's own words decide, and for
 * a push the line that `--porcelain` has for the branch. The server's words, and those of its
 * hooks, are only quoted. The reason is for people, and the details say what to do.
 */
export function remoteFault(doing: string, output: GitOutput): RemoteFault {
  const said = `${doing}: ${detailOf(`${output.stderr}\n${output.stdout}`)}`;
  const { own, hosts, refusal } = linesOf(output.stderr);
  const rejected = rejectionOf(output.stdout);
  if (rejected !== null) return rejectedFault(rejected, hosts, said);

  const status = Number(/(?:returned error: |HTTP )(\d{3})/.exec(own)?.[1] ?? 0);
  // Without an answer of the server's, nothing is a refusal.
  const words = status >= 400 && status < 500 ? [...refusal, ...hosts] : refusal;
  const known = status === 429 ? null : knownRefusal(words);
  if (known !== null) return new TurnFailedError(known[0], { details: [known[1], said] });
  const fault = OWN_FAULTS.find(({ when, is }) => is?.(status) === true || when?.test(own) === true);
  if (fault !== undefined) return fault.means({ status, own, words, said });
  return new UnclearRemoteError("Git failed with the git server.", { details: [said] });
}

/**
 * Whose words the lines are. Git puts `remote: ` before each line that the server or a hook of its
 * sends, also after a carriage return (`sideband.c` and `remote-curl.c` in git's source). Over ssh,
 * code hosts say `ERROR: …` before git begins. `remote error: ` is the server's refusal to talk
 * (`pkt-line.c`).
 */
function linesOf(stderr: string) {
  const lines = stderr.split("\n");
  const isHosts = (line: string) => /^remote:(?: |$)/.test(line);
  const hosts = lines.filter(isHosts).map((line) => line.replaceAll(/(?:^|\r)remote: ?/g, " ").trim());
  const own = lines.filter((line) => !isHosts(line));
  const refusal = own.flatMap((line) => /^(?:ERROR: |fatal: remote error: )(.*)/.exec(line)?.[1] ?? []);
  return { own: own.join("\n"), hosts: hosts.filter((line) => !PROGRESS.test(line)), refusal };
}

const PROGRESS =
  /^(?:Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking|Processing|Checking|Total)\b.*\d/;

/**
 * Why the push of our one branch was rejected: `reason` is the text in parentheses of git's line
 * `!<tab>from:to<tab>[summary] (reason)` (git-push(1), "Output"; `print_ref_status` in
 * `transport.c`). Null if there is no such line.
 */
function rejectionOf(stdout: string): { isRemote: boolean; reason: string } | null {
  for (const line of stdout.split("\n")) {
    const [flag, , told = ""] = line.split("\t");
    if (flag !== "!") continue;
    const [, summary = "", reason = ""] = /^\[([a-z ]+)\](?: \((.*?)\)?)?$/.exec(told) ?? [];
    if (summary === "rejected" || summary === "remote rejected") {
      return { isRemote: summary === "remote rejected", reason };
    }
  }
  return null;
}

/**
 * What git's `receive-pack` says if somebody else was quicker, before 2.51 and since
 * (`ref_transaction_error_msg` in `refs.c`), and what `send-pack` finds out itself.
 */
const RACE = new RegExp(
  String.raw`^(?:stale info|fetch first|non-fast-forward|needs force|already exists|` +
    String.raw`remote ref updated since checkout|failed to update ref|failed to lock|` +
    String.raw`incorrect old value provided|reference (?:already exists|does not exist))$|` +
    String.raw`^(?:cannot lock ref|unable to create|failed to lock)\b`,
);
/** GitHub says `directory file conflict`. */
const IN_THE_WAY = /^directory file conflict$|^refname conflict$|^cannot lock ref .* exists; cannot create\b/;
/** The server's own trouble. */
const BREAKDOWN = /^(?:internal server error|unpacker error|unable to migrate objects|failed to write)\b/i;
const WAY_NAMED = /'refs\/heads\/([^']+)' exists; cannot create/;

function rejectedFault(
  { isRemote, reason }: { isRemote: boolean; reason: string },
  hosts: readonly string[],
  said: string,
): RemoteFault {
  if (IN_THE_WAY.test(reason)) return new BranchInTheWayError(WAY_NAMED.exec(reason)?.[1] ?? null, [said]);
  if (RACE.test(reason)) return new RefConflictError("The branch changed meanwhile.", { details: [said] });
  const words = isRemote ? [...hosts, reason] : [reason];
  if (BREAKDOWN.test(reason) && knownRefusal(words) === null) {
    return new TransientRunError("The git server couldn't take the push.", { details: [said] });
  }
  const [told, advice] = knownRefusal(words) ?? [quotedLine(words) ?? "", "Check the rules of its branches."];
  return new TurnFailedError(`The git server refused the push. ${told}`.trim(), { details: [advice, said] });
}

type OwnFault = {
  /** Finds it in git's own words, or those of ssh. */
  when?: RegExp;
  /** True for the HTTP status of the server's answer, which is 0 if git names none. */
  is?: (status: number) => boolean;
  means: (fault: { status: number; own: string; words: readonly string[]; said: string }) => RemoteFault;
};

function failed(reason: string, advice: string): OwnFault["means"] {
  return ({ said }) => new TurnFailedError(reason, { details: [advice, said] });
}

/** About rights. Whatever else a server says of a 403 isn't about the token. */
const OF_RIGHTS = /\b(?:permission|denied|access|not granted|forbidden|unauthorized|credentials|scope)/i;

/** What git's own words mean. The first that fits counts. */
const OWN_FAULTS: readonly OwnFault[] = [
  {
    is: (status) => status === 429 || status >= 500,
    means: ({ status, said }) =>
      new TransientRunError(`The git server answered ${status}.`, { details: [said] }),
  },
  {
    is: (status) => status === 401 || status === 403,
    when: /authentication failed|could not read (?:username|password)|terminal prompts disabled/i,
    means({ status, words, said }) {
      const quoted = status === 403 && !OF_RIGHTS.test(words.join("\n")) ? quotedLine(words) : null;
      const [reason, advice] =
        quoted === null
          ? [
              "The git server refused the service's credentials.",
              "Check the token's rights on the repository. An App needs contents: write.",
            ]
          : [`The git server refused. ${quoted}`, "Fix what it names."];
      return new CredentialsRefusedError(reason, { details: [advice, said] });
    },
  },
  {
    is: (status) => status === 404,
    when: /repository .*not found|does not appear to be a git repository|is this a git repository\?/i,
    means: failed(
      "There is no such repository, or the service may not see it.",
      "Check the repository's address, and what the token for it may see.",
    ),
  },
  {
    is: (status) => status >= 300 && status < 400,
    means: failed("The repository has moved.", "Set the project's repository to its new URL."),
  },
  {
    when: /dubious ownership/i,
    means: failed(
      "The service may not use the repository.",
      "It belongs to another user of this machine. Give it to the user that the service runs as.",
    ),
  },
  {
    when: /couldn't find remote ref/i,
    means({ own, said }) {
      const name = /couldn't find remote ref (?:refs\/(?:heads|tags)\/)?(\S+)/i.exec(own)?.[1] ?? "";
      const advice = "Check the project's baseBranch, and the ref of a context repository.";
      return new TurnFailedError(`The repository has no branch ${name} to start from.`, {
        details: [advice, said],
      });
    },
  },
  {
    // Nobody else changes the mirror, so something is there that shouldn't be.
    when: /cannot lock ref|unable to create '[^']*\.lock'/i,
    means: ({ said }) => new GitError(said),
  },
  {
    when: /certificate/i,
    means: failed(
      "The service doesn't trust the git server's certificate.",
      "Set SSL_CERT_FILE to a file with the certificate of whoever signed it.",
    ),
  },
  {
    is: (status) => status >= 400,
    means: ({ status, words, said }) => {
      const reason = `The git server answered ${status}. ${quotedLine(words) ?? ""}`;
      return new TurnFailedError(reason.trim(), { details: [said] });
    },
  },
  {
    when: new RegExp(
      String.raw`could not resolve|failed to connect|couldn't connect|connection (?:refused|reset|` +
        String.raw`closed|timed out|was)|no route to host|timed out|early eof|unexpected disconnect|` +
        String.raw`hung up|empty reply|recv failure|send failure|transfer closed|too slow|rpc failed|` +
        String.raw`bad response|tls|gnutls|network is unreachable|proxy`,
      "i",
    ),
    means({ own, said }) {
      const advice = /could not resolve/i.test(own)
        ? "Correct the host's name in the project's repository, or this machine's DNS."
        : "Check the project's repository, the network, and HTTPS_PROXY if you set it.";
      return new TransientRunError("The git server can't be reached.", { details: [advice, said] });
    },
  },
  {
    // Not git's "Could not read from remote repository", which it prints however ssh ended.
    when: /permission denied \(|host key verification|permission to .+ denied|marked as read.only/i,
    means: failed(
      "The git server refused the service's SSH key, or the service doesn't know the server.",
      "Check that the SSH agent has a key with rights on the repository, and that known_hosts has " +
        "the server.",
    ),
  },
];

function detailOf(words: string): string {
  return endOf(words.trim(), MAX_DETAIL);
}
