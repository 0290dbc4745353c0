import { isAbsolute } from "node:path";
import { z } from "zod";
import { isGitBranch } from "./branches.ts";
import { isSafeHttpUrl, repositoryKind, repositoryOfPage } from "./repository.ts";

/** The name of an environment variable. */
export const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * A whole number. Here and below, `want` says what to write: it follows "must be", or "Set it to".
 */
export function wholeNumber(want: string, min: number, max: number): z.ZodNumber {
  const error = `a whole number from ${min} to ${max} (${want})`;
  return z.int(error).min(min, error).max(max, error);
}

/** A number from 0 on. */
export function number(want: string, max: number): z.ZodNumber {
  return z.number(want).min(0, want).max(max, want);
}

/** A text that isn't empty or too long, and that `fits`. */
export function text(want: string, max = 500, fits: RegExp | ((value: string) => boolean) = /^/) {
  const isFitting = fits instanceof RegExp ? (value: string) => fits.test(value) : fits;
  return z.string(want).min(1, want).max(max, want).refine(isFitting, want);
}

/** A list of at most `max` items. */
export function listSetting<T extends z.ZodType>(item: T, want: string, max = 200) {
  return z.array(item, want).max(max, want);
}

/** An absent section is read as `{}`, so that the defaults inside it apply. */
export function sectionSetting<T extends z.ZodRawShape>(settings: T, want?: string) {
  return z.preprocess((given) => given ?? {}, z.strictObject(settings, want));
}

const WANT_ENV_NAME = "the name of an environment variable, never its value";
/** The name of an environment variable that has a secret. */
export const EnvName = z.string(WANT_ENV_NAME).refine((name) => ENV_NAME.test(name), {
  error: ({ input }) => {
    // Only a name in the form of a variable is shown.
    const [, name] = /^\$\{?([A-Z_][A-Z0-9_]{0,60})\}?$/.exec(String(input)) ?? [];
    return name === undefined ? WANT_ENV_NAME : `the variable's name alone: ${name}`;
  },
});
const WANT_HTTP_URL = "an https URL (http only to this machine) without a user name or a password";
/** An address that the service calls. */
export const UrlSetting = text(WANT_HTTP_URL, 2000, isSafeHttpUrl).refine(
  (url) => !/[?#]/.test(url),
  "an address without ? and #: a key goes into the variable that another setting names",
);

/** A path on this machine. Nothing fills in `~` and variables, as a shell would. */
export function machinePath(want: string) {
  return text(want, 4000).refine((path) => !/^~|\$/.test(path), "a path without ~ and $: write it out");
}
const WANT_REPOSITORY =
  "an https URL (http only to this machine), an ssh URL, user@host:path, or a local path; " +
  "credentials come from gitCredentialsEnv";
/** A `local` repository is a path, relative to the settings file until it is resolved. */
export const RepositorySetting = z
  .string(WANT_REPOSITORY)
  .refine((value) => value !== "" && value.length <= 2000 && repositoryKind(value) !== null, WANT_REPOSITORY)
  .refine((value) => repositoryOfPage(value) === null, {
    error: ({ input }) =>
      `the repository's own address, ${repositoryOfPage(String(input))}, not a page in it`,
  });

/** A path inside a repository, as git writes it. */
export function repositoryPath(want: string) {
  const isOutside = (part: string) => part === ".." || part === ".git";
  return text(want, 300, (path) => !path.startsWith("/") && !path.split("/").some(isOutside));
}

/** What a program may read besides its own folders. */
export const Readable = listSetting(
  text("the absolute path of a file or folder on this machine, for example /opt/vale", 4000, isAbsolute),
  "a list of absolute paths of files and folders on this machine, for example [/opt/vale]",
).default([]);

/** A program and its arguments. */
export function command(example: string) {
  const want = `a list of texts, the program first, for example ${example}`;
  return listSetting(text(want, 4000), want).min(1, want);
}

/** A branch or a tag. */
export const BranchSetting = text("the name of a branch that git takes", 200, isGitBranch).default("main");

const isGlob = (text: string) => !/^[/!]/.test(text) && !text.split("/").includes("..");
/** What a list of globs must be. */
export const WANT_GLOBS = 'a list of globs inside the repository, for example ["docs/**"]';
/** Files of a repository. */
export const Globs = listSetting(
  text("a glob inside the repository, for example docs/**", 300, isGlob),
  WANT_GLOBS,
);

/** An amount of US dollars. */
export function dollars(want: string) {
  return number(`${want}, in US dollars, from 0 to 100000`, 100_000);
}

/** Labels of runners: what a runner has, or what a project asks of the runners of its turns. */
export const RunnerLabels = listSetting(
  text("a label of at most 40 lower-case letters, digits, '.', '_' or '-'", 40, /^[a-z0-9][a-z0-9._-]*$/),
  "a list of at most 20 labels, for example [large]",
  20,
).default([]);

/** What a model's name must be. */
export const WANT_MODEL_NAME = "lower-case letters, digits or '-', a letter first, at most 32";
/** A model's name in the settings. */
export const ModelName = text(WANT_MODEL_NAME, 32, /^[a-z][a-z0-9-]*$/);
