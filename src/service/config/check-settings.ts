import { isAbsolute } from "node:path";
import { z } from "zod";
import { meantValue } from "../../shared/text/did-you-mean.ts";
import { CHECK_PRESETS } from "./check-presets.ts";
import { HYGIENE, HYGIENE_RULES } from "./hygiene-rules.ts";
import {
  command,
  ENV_NAME,
  listSetting,
  Readable,
  repositoryPath,
  text,
  wholeNumber,
} from "./setting-types.ts";

const WANT_CHECK = `one of ${[...CHECK_PRESETS.keys()].join(", ")}, or a section with name and command`;
const CommandCheck = z.strictObject(
  {
    name: text("1 to 40 letters, digits, spaces, '.', '_' or '-'", 40, /^(?!hygiene$)[A-Za-z0-9][\w .-]*$/i),
    command: command('["node", "check.mjs"]'),
    cwd: repositoryPath("a folder in the repository, for example website").default("."),
    env: z.record(z.string().regex(ENV_NAME), z.string().max(4000), "variables and their values").default({}),
    timeoutSeconds: wholeNumber("how long the check may take, in seconds", 1, 3600).default(300),
    blocking: z.boolean("true or false").default(true),
    // The exit codes by which the command says that it ran and found something.
    findingsAt: listSetting(
      wholeNumber("an exit code of the command", 1, 125),
      "a list of exit codes, for example [1]",
      20,
    )
      .min(1, "a list of exit codes, for example [1]")
      .optional(),
    readable: Readable,
    mounts: listSetting(
      z.strictObject({
        from: text("the absolute path of a folder on this machine", 4000, isAbsolute),
        at: repositoryPath("a folder in the repository, for example website/node_modules"),
      }),
      "a list of folders, each with from and at",
      20,
    ).default([]),
  },
  WANT_CHECK,
);
const WANT_RULE = "a rule of hygiene, as docs/quality.md lists them";
/** The check that every turn has, with the rules that a project doesn't want. */
const HygieneCheck = z.strictObject({
  name: z.literal(HYGIENE),
  off: listSetting(z.enum(HYGIENE_RULES, WANT_RULE), "a list of rules, for example [comment]").default([]),
});

/** A check of a project. A preset's name stands for a check of that name. */
export const CheckSetting = z.preprocess(
  (given) => {
    if (given === HYGIENE) return { name: given };
    const preset = typeof given === "string" ? CHECK_PRESETS.get(given) : undefined;
    return preset === undefined ? given : { name: given, ...preset.settings };
  },
  z.union([CommandCheck, HygieneCheck], {
    error: ({ input }) => {
      const meant = typeof input === "string" ? meantValue(input, [...CHECK_PRESETS.keys(), HYGIENE]) : null;
      return meant === null ? WANT_CHECK : `${WANT_CHECK}. Did you mean ${meant}?`;
    },
  }),
);

/** A check that runs a command. */
export type CommandCheck = z.infer<typeof CommandCheck>;

/** True if a check of the settings runs a command. */
export function runsCommand(check: z.infer<typeof CheckSetting>): check is CommandCheck {
  return check.name !== HYGIENE;
}
