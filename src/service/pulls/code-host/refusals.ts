import { oneLine, printableText } from "../../base/printable-text.ts";

/** What a refusal means: the reason, for people, and what the operator can do. */
export type RefusalWords = [reason: string, advice: string];

/** Something that a code host or its git server refuses for good. */
type KnownRefusal = {
  /** Finds it in one of the host's lines. */
  says: RegExp;
  /** For whoever asked. */
  reason: string;
  /** For the operator. */
  advice: string;
  /** The part of the host's words that people need, too: the rule, or an address. */
  shows?: "line" | "address";
};

const UNSEEN_BRANCH = "The code host doesn't see the branch that was pushed.";
const BYPASS = "add the service's App or account to the rule's bypass list";

/**
 * What GitHub, GitLab and Gitea refuse, by their own words. The first that fits counts, so what
 * says more comes first. `docs/pull-requests.md` has a row for each, with words that a host says.
 */
export const KNOWN_REFUSALS: readonly KnownRefusal[] = [
  {
    says: anyOf(/\b(?:installation|app)\b.{0,30}\bsuspended/),
    reason: "The service's App is suspended at the code host.",
    advice: "Unsuspend its installation in the owner's settings, under GitHub Apps.",
  },
  {
    says: anyOf(/\b(?:account|user|organization)\b.{0,30}\bsuspended/, /\bsuspended account/),
    reason: "The service's account is suspended at the code host.",
    advice: "Ask the code host's support about the account, or use another one.",
  },
  {
    says: anyOf(/\bSAML\b/, /\bSSO\b/, /\bsingle sign-?on/),
    reason: "The organization asks for single sign-on, which the service isn't authorized for.",
    advice: "Authorize the token for the organization's single sign-on, or use a GitHub App.",
  },
  {
    says: anyOf(/\bIP allow ?list/, /\bIP address\b.{0,40}\bnot (?:permitted|allowed)/),
    reason: "The organization takes no requests from the service's network address.",
    advice: "Add this machine's address to the organization's IP allow list.",
  },
  {
    says: anyOf(
      /\barchived\b.{0,40}\bread-?only/,
      /\b(?:is|was|been) archived/,
      /\barchived (?:repositor|project)/,
    ),
    reason: "The repository is archived, so it can't be changed.",
    advice: "Unarchive the repository, or remove the project from the settings.",
  },
  {
    says: anyOf(/\bpull requests? (?:is|are|has been|have been) (?:disabled|turned off)/),
    reason: "Pull requests are turned off in this repository.",
    advice: "Turn them on in the repository's settings, or set codeHost to { kind: none }.",
  },
  {
    says: anyOf(/\brepository\b.{0,30}\b(?:disabled|blocked)/, /\bDMCA\b/, /\btrade controls?\b/),
    reason: "The code host has disabled this repository.",
    advice: "Ask the repository's owner what the code host told them.",
  },
  {
    says: anyOf(
      /\bmust be a collaborator/,
      /\bcollaborators only/,
      /\bonly collaborators/,
      /\binteraction limit/,
    ),
    reason: "Only collaborators may do this in the repository.",
    advice: "Make the service's account a collaborator, or lift the repository's limit.",
  },
  {
    says: anyOf(
      /\btoo many (?:open )?(?:pull|merge) requests/,
      /\b(?:pull|merge) requests? limit/,
      /\bmaximum number of (?:open )?(?:pull|merge) requests/,
    ),
    reason: "The repository has too many open pull requests.",
    advice: "Merge or close some of them, or raise the limit.",
  },
  {
    says: anyOf(
      /\bpush protection\b/,
      /\bGH009\b/,
      /\bsecrets? (?:was |were )?(?:detected|found)/,
      /\bcontain(?:s|ing)? (?:a )?secrets?\b/,
      /\bsecret (?:scanning|detection|push)/,
    ),
    reason: "Something in the change looks like a secret, so it was refused.",
    advice: "Look at what was found. If it's no secret, allow it at the code host, and ask again.",
  },
  {
    says: anyOf(
      /\b(?:repository|project|account|namespace)\b.{0,60}\bexceed(?:s|ed)\b.{0,60}\b(?:size|limit|storage)/,
      /\bquota\b.{0,30}\bexceeded/,
      /\b(?:exceed(?:s|ed)|over)\b.{0,30}\bquota/,
    ),
    reason: "A limit of the repository or its account is reached.",
    advice: "Raise the limit at the code host, or make room.",
    shows: "line",
  },
  {
    says: anyOf(
      /\bGH001\b/,
      /^(?!.*\blength\b).*\bexceed(?:s|ed|ing)?\b.{0,60}\b(?:size|limit)/,
      /\b(?:file|blob|object|pack)\b.{0,200}\b(?:larger than|too large|too big)\b/,
      /\blarge files? detected/,
      /\bmax(?:imum)? file size/,
    ),
    reason: "A file in the change is larger than the repository takes.",
    advice: "Have the file made smaller or left out, or raise the limit at the code host.",
  },
  {
    says: anyOf(/\bsigned-off(?:-by)?\b/, /\bsign-?off\b/, /\bDCO\b/),
    reason: "The repository wants a Signed-off-by line in each commit.",
    advice: "Set commits.signOff to true.",
  },
  {
    says: anyOf(
      /\bverified signatures?/,
      /\b(?:unsigned|not signed|be signed|signed commits?|signed with a)\b/,
      /\b(?:GPG|SSH|commit) signatures?\b/,
      /\bsignatures? (?:(?:is|are|was|were) )?(?:required|missing|not verified|verification failed)/,
    ),
    reason: "The repository only takes commits with a verified signature.",
    advice: "Set commits.signingKeyFile, or commits.by to api if the service uses an App.",
  },
  {
    says: anyOf(
      /\bGH007\b/,
      /\bprivate email/,
      /\bemail privacy\b/,
      /\b(?:author|committer)\b/,
      /\be-?mail (?:address )?(?:must|does|is|domain)\b/,
      /\bcannot push commits for\b/,
    ),
    reason: "The repository has a rule for the author of commits or their email address.",
    advice: "Set commits.name and commits.email to what the rule takes.",
    shows: "line",
  },
  {
    says: anyOf(
      /\bcommit messages?\b/,
      /\bmessage (?:must|does not|doesn't|should)\b/,
      /\btickets?\b/,
      /\bissue (?:key|number|id)\b/,
      /\bwork item\b/,
      /\bcommitlint\b/,
      /\bconventional commits?\b/,
      /\[(?:subject|type|scope|header|body|footer)-[a-z-]+\]/,
    ),
    reason: "The repository has a rule for commit messages.",
    advice: "Set pullRequests.titleTemplate so that messages fit it, or exempt the service from the rule.",
    shows: "line",
  },
  {
    says: anyOf(/\bcreations? being restricted/, /\bnot allowed to create (?:a )?(?:new )?branch/),
    reason: "The repository's rules don't let the service create its branch.",
    advice: `Set pullRequests.branchPrefix to one that the rule leaves free, or ${BYPASS}.`,
  },
  {
    says: anyOf(
      /\bGH002\b/,
      /\bbranch names?\b/,
      /\bname of (?:the|your|this) branch\b/,
      /\bbranch\b.{0,80}\b(?:not (?:follow|match)|must (?:match|start|begin|follow)|(?:in)?valid name)/,
    ),
    reason: "The repository has a rule for branch names.",
    advice: "Set pullRequests.branchPrefix to what the rule takes.",
    shows: "line",
  },
  {
    says: anyOf(/\bworkflows?\b.{0,20}\b(?:permission|scope)/),
    reason: "The service may not change workflows.",
    advice: "Leave .github/workflows out of the project's docs.",
  },
  {
    says: anyOf(
      /\bfile (?:paths?|names?|extensions?)\b/,
      /\bfiles?\b.{0,80}\b(?:prohibited|restricted|protected|not allowed)/,
      /\bLFS objects?\b/,
    ),
    reason: "The repository has a rule for which files may change.",
    advice: `Leave these files out of the project's docs, or ${BYPASS}.`,
    shows: "line",
  },
  {
    says: anyOf(
      /\bhead\b.{0,30}\b(?:invalid|blank|must be a branch|not found)/,
      /\bno commits between\b/,
      /\bnot all refs are readable/,
    ),
    reason: UNSEEN_BRANCH,
    advice: "Check that repository and codeHost name the same repository, and ask again.",
  },
  {
    says: anyOf(/\bbase\b.{0,60}\b(?:invalid|blank|must be a branch|not found|not exist|doesn't exist)/),
    reason: "The base branch is gone, or takes no pull requests.",
    advice: "Set the project's baseBranch to a branch that the repository has.",
  },
  {
    says: anyOf(
      /\bGH00[36]\b/,
      /\bprotected (?:branch(?:es)?|ref)\b/,
      /\bbranch is protected/,
      /\bthrough a pull request/,
      /\bstatus checks?\b.{0,80}\b(?:expected|required)/,
      /\bforce-?push/,
    ),
    reason: "The branch is protected, and its rules refused the push.",
    advice: `Exempt the branches that begin with pullRequests.branchPrefix from the rule, or ${BYPASS}.`,
  },
  {
    says: anyOf(/\bmoved permanently/, /\brepository (?:has )?(?:been )?(?:moved|renamed|transferred)/),
    reason: "The repository has moved.",
    advice: "Set the project's repository and codeHost to its new address.",
    shows: "address",
  },
];

const MAX_QUOTED = 200;
/** Says only that a line with the rule follows, or that there is one. */
const BANNER = anyOf(
  /^\W*(?:errors?|fatal|rejected|refused|declined|denied|failed|attention|sorry)\W*$/,
  /^\W*(?:[\w-]+ ){0,3}(?:push|hook)\b\W*(?:(?:was|is) )?(?:rejected|refused|declined|denied|blocked)\W*$/,
  /^(?:GH\d{3}: )?Repository rule violations found/,
  /^Review all repository rules/,
  /^Found \d+ violations?/,
);
/** What hosts and hooks put before their words. */
const PREFIXES =
  /^(?:[-*•>|║│✖✗✘❌\s]|\[alert\]|error: |fatal: |GL-HOOK-ERR: |GitLab: |Gitea: |Forgejo: )+/iu;
const SUFFIXES = /\s+[*|║│]+\s*$/;
/** Isn't the reason: a warning, or a check that begins, or that found nothing. */
const IDLE = anyOf(
  /^\s*(?:warning|hint):/,
  // A hook quotes the message.
  /^\s*signed-off-by: .*<\S+@\S+>\s*$/,
  /^\s*(?:[✓✔✅☑]|\[?(?:ok|pass(?:ed)?)\b)/,
  /(?:[✓✔✅☑]|(?<!\b(?:not|n't|never) )\b(?:ok|passed|done|skipped))[\])]?[.!]?\s*$/,
  /^\s*(?:\[[^\]]*\] *)?(?:check|runn|verify|validat|scann)ing\b(?!.*(?:fail|reject|error|must|\bno))/,
  /\b(?:no|0) (?:secrets?|problems?|violations?|issues?|errors?) (?:were )?(?:detected|found)\b/,
);
const LINK = /\b[a-z][a-z0-9+.-]*:\/\/\S*/gi;

/** True if the host may only not see yet what was pushed a moment ago. */
export function saysUnseenBranch(said: string): boolean {
  return knownRefusal([said])?.[0] === UNSEEN_BRANCH;
}

/** What a code host refuses in these lines, if it is known. Null if it isn't. */
export function knownRefusal(lines: readonly string[]): RefusalWords | null {
  const told = spoken(lines);
  for (const { says, reason, advice, shows } of KNOWN_REFUSALS) {
    const line = told.find((each) => says.test(each.replace(LINK, "")));
    if (line === undefined) continue;
    if (shows === "address") return [withAddress(reason, told), advice];
    const quoted = shows === "line" ? quotedLine([line]) : null;
    return [quoted === null ? reason : `${reason} ${quoted}`, advice];
  }
  return null;
}

function withAddress(reason: string, lines: readonly string[]): string {
  const link = lines.flatMap((line) => line.match(LINK) ?? [])[0] ?? "";
  const url = URL.parse(link);
  if (url === null) return reason;
  const address = oneLine(`${url.host}${url.pathname}`, MAX_QUOTED).replace(/(?:\.git)?[.,)]*$/, "");
  return `${reason.slice(0, -1)} to ${address}.`;
}

/**
 * A sentence that quotes the first line that says something: bounded, and without links. Null if
 * none does.
 */
export function quotedLine(lines: readonly string[]): string | null {
  const said = spoken(lines)
    .map((line) => line.replace(LINK, "").replace(PREFIXES, "").replace(SUFFIXES, ""))
    .map((line) => oneLine(line, MAX_QUOTED))
    // Markup and JSON are for programs.
    .filter((line) => /\p{L}/u.test(line) && !/^[<{]/.test(line));
  const first = said.find((line) => !BANNER.test(line)) ?? said[0];
  return first === undefined ? null : `It said: “${first}”`;
}

/** The lines that may be the reason, without colors. */
function spoken(lines: readonly string[]): string[] {
  return lines.map(printableText).filter((line) => !IDLE.test(line));
}

/** One expression for all of these, in upper and lower case. */
function anyOf(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join("|"), "i");
}
