import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { Logger } from "../../shared/machine/ports.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";
import { counted } from "../../shared/text/text.ts";
import { forgetPerson } from "../jobs/forget-person.ts";
import type { FoundPerson } from "../jobs/people-store.ts";
import type { CommandResult } from "./run-command.ts";
import { lineText } from "./show.ts";

/** A request of the command line to forget a person, in JSON. */
export const ForgetCommand = z.strictObject({ name: z.literal("forget"), user: z.string().min(1).max(200) });
export type ForgetCommand = z.infer<typeof ForgetCommand>;

/** Forgets a person, in the process that owns the state, and tells what stays elsewhere. */
export async function forget(
  { user }: ForgetCommand,
  deps: { db: DatabaseSync; dataDir: string; nowMs: number; logger?: Logger },
): Promise<CommandResult> {
  const found = await forgetPerson(user, deps);
  const isRefused = found === "busy" || found.jobIds.length === 0;
  // Who it was is forgotten, in the log, too.
  deps.logger?.info({ command: "forget" }, isRefused ? "command refused" : "command done");
  if (found === "busy") {
    return {
      text:
        `A turn of ${lineText(user)}, or one in a job with their words, waits or runs. Wait for its ` +
        "end or cancel it (jobs cancel), and run this again.",
      isRefused,
      isActive: false,
    };
  }
  if (found.jobIds.length === 0) {
    return { text: `Nothing is stored of ${lineText(user)}.`, isRefused, isActive: false };
  }
  return { text: forgottenText(user, found), isRefused, isActive: false };
}

function forgottenText(user: string, { turns, quotedIn, jobIds, left }: FoundPerson): string {
  const quoted = quotedIn === 0 ? "" : `, and what they wrote in ${counted(quotedIn, "turn")} of others`;
  const atHost = left.map((each) => `  ${lineText(each)}\n`).join("");
  const host =
    left.length === 0 ? "" : "- At the code host: texts, comments and commits that may name them.\n";
  return (
    `Forgot what ${lineText(user)} asked in ${counted(turns, "turn")}${quoted}: words, names and files.\n` +
    `${counted(jobIds.length, "job")}, now archived: ${jobIds.join(", ")}\n` +
    "Numbers stay: outcomes, tokens, cost, and a hash in place of the person's id.\n\n" +
    "What stays elsewhere, and has to be removed there:\n" +
    "- In Slack: the person's messages, and those of Docs Agent.\n" +
    `- In the Slack app's store: run ${commandOf("state", "forget")} there, with their id in Slack.\n` +
    `${host}${atHost}` +
    "- On runners on other machines, for a week at most: what agents there remember of these jobs.\n" +
    "- At the providers of models: what they keep of the agent's calls.\n" +
    "- In backups of the data folder, and in the mirrors of your repositories: what was committed.\n"
  );
}
