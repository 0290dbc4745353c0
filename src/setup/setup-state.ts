import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { jsonOf } from "../shared/text/text.ts";
import { AGENT_PRESET_NAMES } from "../service/config/agent-presets.ts";
import { MODEL_KINDS } from "../service/network/gateway/model-kinds.ts";

/** How the service signs in at the code host. */
export const CodeHostAccess = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("token") }),
  z.object({ kind: z.literal("app"), id: z.number(), keyFile: z.string(), installationId: z.number() }),
]);
export type CodeHostAccess = z.infer<typeof CodeHostAccess>;

/** The answers that were tried and taken, without secrets. */
export const SetupState = z.object({
  version: z.literal(1),
  reach: z
    .discriminatedUnion("kind", [
      z.object({ kind: z.literal("socket") }),
      z.object({ kind: z.literal("http"), host: z.string() }),
    ])
    .optional(),
  /** The app's id if this program created it. */
  appId: z.string().optional(),
  /** The app and the workspace that its token is for. */
  slack: z.object({ bot: z.string() }).optional(),
  repository: z
    .object({
      address: z.string(),
      owner: z.string(),
      repo: z.string(),
      baseBranch: z.string(),
      checks: z.array(z.string()),
      access: CodeHostAccess,
    })
    .optional(),
  /** A GitHub App that was created for the repository step. */
  app: z.object({ id: z.number(), keyFile: z.string(), installationId: z.number() }).optional(),
  agent: z.object({ preset: z.enum(AGENT_PRESET_NAMES), kind: z.enum(MODEL_KINDS) }).optional(),
  /** True if the admin key in `.env` was made here. */
  hasKey: z.boolean().default(false),
  /** True once `.env` was copied, or made, by an earlier run. */
  ownsEnv: z.boolean().default(false),
  /** True once both settings files are written. */
  isWritten: z.boolean().default(false),
});
export type SetupState = z.infer<typeof SetupState>;

/** Reads the state that an earlier run left. Begins anew if there is none that can be read. */
export function readSetupState(file: string): SetupState {
  const parsed = SetupState.safeParse(jsonOf(textOf(file)));
  return parsed.success ? parsed.data : SetupState.parse({ version: 1 });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Replaces the file, which only its owner can read. */
export function writeSetupState(file: string, state: SetupState): void {
  writePrivateFile(file, `${JSON.stringify(state, null, 2)}\n`);
}

/** Writes a whole file, or nothing. Only its owner can read it. */
export function writePrivateFile(file: string, text: string): void {
  const next = `${file}.new`;
  writeFileSync(next, text, { mode: 0o600 });
  renameSync(next, file);
}
