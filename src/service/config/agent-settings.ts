import { z } from "zod";
import { AGENT_PRESET_NAMES, AGENT_PRESETS, isAgentPreset } from "./agent-presets.ts";
import {
  command,
  listSetting,
  machinePath,
  Readable,
  repositoryPath,
  sectionSetting,
  text,
  wholeNumber,
} from "./setting-types.ts";

const MAX_INSTRUCTIONS = 8000;
const AgentSettings = {
  command: command('["opencode", "acp"]'),
  timeLimitMinutes: wholeNumber("how long a turn may take, in minutes", 1, 24 * 60).default(30),
  maxOutputBytes: wholeNumber("how much the agent may write, in bytes", 1024, 1024 ** 3).default(
    16 * 1024 ** 2,
  ),
  readable: Readable,
  instructions: text(
    `what the project's agent should know, at most ${MAX_INSTRUCTIONS} characters`,
    MAX_INSTRUCTIONS,
  ).optional(),
  briefFile: machinePath("the path of a Markdown file, for example brief.md").optional(),
  styleGuide: listSetting(
    repositoryPath("the path of a file in the repository, for example docs/STYLE.md"),
    "a list of paths of files in the repository, for example [docs/STYLE.md]",
    10,
  ).default([]),
  limits: sectionSetting({
    memoryMegabytes: wholeNumber("how much memory the agent may use, in megabytes", 1024, 1_048_576).default(
      4096,
    ),
    processes: wholeNumber("how many processes the agent may have", 1, 32_768).default(512),
    diskMegabytes: wholeNumber(
      "how much the agent may write to its folders, in megabytes",
      16,
      1_048_576,
    ).default(2048),
  }),
};
const WANT_MODEL = "the model's name at its provider, beside a preset";
/** How a project's agent is started, and what it may do. */
export const AgentSetting = z.preprocess(
  withPreset,
  z.discriminatedUnion(
    "kind",
    [
      z
        .strictObject({
          kind: z.literal("acp"),
          preset: z.enum(AGENT_PRESET_NAMES, `one of ${AGENT_PRESET_NAMES.join(", ")}`).optional(),
          model: text(WANT_MODEL, 200).optional(),
          ...AgentSettings,
          terminal: z.boolean("true or false").default(false),
          // With `ask`, a person decides what the policy doesn't allow, and the agent may ask
          // questions.
          permissions: z.enum(["policy", "ask"], "policy or ask").default("policy"),
          startSeconds: wholeNumber(
            "how long the agent may take to answer when it starts, in seconds",
            1,
            3600,
          ).default(60),
          answerTimeLimitMinutes: wholeNumber(
            "how long an agent waits for a person's answer, in minutes",
            1,
            24 * 60,
          ).default(60),
        })
        .refine(({ preset, model }) => preset !== undefined || model === undefined, {
          path: ["model"],
          error: WANT_MODEL,
        }),
      z.strictObject({
        kind: z.literal("command"),
        ...AgentSettings,
        terminal: z.literal(false, "left out: it is a capability of kind: acp").default(false),
      }),
    ],
    {
      error: ({ input }) =>
        typeof input !== "object"
          ? "a section, for example { preset: opencode }"
          : 'acp (Agent Client Protocol over stdio) or command (any program), with command: ["…"]; or use ' +
            "preset: opencode (or gemini, claude, codex, copilot)",
    },
  ),
);

/** A preset provides the kind and the command, unless the settings have a command of their own. */
function withPreset(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("preset" in given)) return given;
  const { preset } = given;
  const command = typeof preset === "string" && isAgentPreset(preset) ? AGENT_PRESETS[preset].command : ["?"];
  return { kind: "acp", command: [...command], ...given };
}
