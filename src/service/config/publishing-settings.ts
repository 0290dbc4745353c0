import { z } from "zod";
import { DEFAULT_BRANCH_PREFIX, isBranchPrefix } from "./branches.ts";
import {
  EnvName,
  UrlSetting,
  listSetting,
  machinePath,
  sectionSetting,
  text,
  wholeNumber,
} from "./setting-types.ts";

const OwnerOrRepo = text(
  "the name alone, for example docs, as it stands in the repository's address",
  500,
  /^[A-Za-z0-9_.-]{1,100}$/,
);
const WANT_API = "the address of the API: https://api.github.com";
const EITHER = ["tokenEnv", "app"];
/** Where a project's pull requests are, and how the service signs in there. */
export const CodeHostSetting = z.discriminatedUnion(
  "kind",
  [
    z
      .strictObject({
        kind: z.literal("github"),
        apiUrl: UrlSetting.refine((url) => !/^https:\/\/(?:www\.)?github\.com\b/.test(url), WANT_API).default(
          "https://api.github.com",
        ),
        owner: OwnerOrRepo,
        repo: OwnerOrRepo,
        tokenEnv: EnvName.optional(),
        app: z
          .strictObject(
            {
              id: wholeNumber("the App's id, not its client id", 1, Number.MAX_SAFE_INTEGER),
              keyFile: machinePath("the path of the App's private key, a .pem file"),
              installationId: wholeNumber("the id of the App's installation", 1, Number.MAX_SAFE_INTEGER),
            },
            "a section with id, keyFile and installationId",
          )
          .optional(),
        pollSeconds: wholeNumber("how often pull requests are looked at, in seconds", 5, 3600).default(60),
        webhookSecretEnv: EnvName.optional(),
      })
      .refine(({ tokenEnv, app }) => (tokenEnv === undefined) !== (app === undefined), {
        path: ["tokenEnv"],
        error: ({ input }) =>
          Object(input).app === undefined
            ? "the name of an environment variable, never its value, or use app instead"
            : "left out beside app, which has tokens of its own",
        // Reports this together with all other faults, but adds none to those of the two.
        when: ({ issues }) => !issues.some(({ path }) => EITHER.includes(String(path?.[0]))),
      }),
    z.strictObject({ kind: z.literal("none") }),
  ],
  "github (with owner, repo, and app or tokenEnv), or none for GitLab and other hosts: the service " +
    "then pushes a branch, and you open the merge request",
);

const WANT_TITLE = "a text with {title} in it, for example docs: {title}";
const isTitle = (template: string) => template.includes("{title}") && !/\p{Cc}/u.test(template);
const WANT_REVIEWER = "a user name at the code host, or a team as owner/team, without @";
const WANT_BRANCH_PREFIX =
  "the beginning of a branch name that git allows, without spaces, for example docs-agent/";
/** How a project's pull requests look, and where their branches go. */
export const PullRequestsSetting = sectionSetting({
  draft: z.boolean("true or false").default(false),
  labels: listSetting(text("a label of 1 to 50 characters", 50), "a list of at most 20 labels", 20).default(
    [],
  ),
  reviewers: listSetting(
    text(WANT_REVIEWER, 140, /^[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/),
    "a list of user names at the code host, or teams as owner/team",
    15,
  ).default([]),
  assignees: listSetting(
    text("a user name at the code host, without @", 100, /^[A-Za-z0-9][\w.-]*$/),
    "a list of user names at the code host",
    15,
  ).default([]),
  // Where branches are pushed, if not to the repository itself.
  fork: text("a fork of the repository, as owner/repo", 201, /^[\w.-]{1,100}\/[\w.-]{1,100}$/).optional(),
  branchPrefix: text(WANT_BRANCH_PREFIX, 90, isBranchPrefix).default(DEFAULT_BRANCH_PREFIX),
  titleTemplate: text(WANT_TITLE, 100, isTitle).default("{title}"),
  // Whether a pull request names the requester and links to the thread. `auto` means in private
  // repositories only.
  requester: z.enum(["auto", "always", "never"], "auto, always or never").default("auto"),
});

const WANT_NAME = "a name that begins and ends with a letter, a digit or a bracket, without < and >";
/** Git leaves out other characters at both ends of a name, and then a sign-off would differ. */
const PERSON_NAME = /^[\p{L}\p{N}([](?:[^<>\p{Cc}]*[\p{L}\p{M}\p{N})\]])?$/u;
/** Whose a project's commits are. */
export const CommitsSetting = sectionSetting({
  name: text(WANT_NAME, 100, PERSON_NAME).optional(),
  email: text("an e-mail address", 254, /^[^\s<>@\p{Cc}]+@[^\s<>@\p{Cc}]+$/u).optional(),
  signOff: z.boolean("true or false").default(false),
  signingKeyFile: machinePath("the path of a private SSH key").optional(),
  // Who makes the commits: the service with git, or the code host.
  by: z.enum(["git", "api"], "git or api").default("git"),
});
