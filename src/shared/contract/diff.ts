import { z } from "zod";
import { Count } from "./reading.ts";

/** What a diff has at most. `bytes` are those of its text as it is sent, in JSON. */
export const DIFF_LIMITS = { files: 300, bytes: 512 * 1024, lineChars: 500 } as const;

/** What a job's branch changes against its base (untrusted text, bounded). */
export const JobDiff = z
  .object({
    files: z
      .array(
        z.object({
          path: z.string().describe("The file's path for display: shortened, without control characters."),
          status: z
            .enum(["added", "changed", "removed"])
            .describe("What happened to it. A renamed file is removed and added."),
          additions: Count.nullable().describe("Added lines, or null if it isn't text."),
          deletions: Count.nullable().describe("Removed lines, or null if it isn't text."),
        }),
      )
      .max(DIFF_LIMITS.files)
      .describe(`The first ${DIFF_LIMITS.files} changed files, by path.`),
    fileCount: Count.describe("All changed files."),
    diff: z
      .string()
      .describe(
        `As git writes it, at most ${DIFF_LIMITS.bytes} bytes. Lines are cut after ` +
          `${DIFF_LIMITS.lineChars} characters. Files that aren't text are only named.`,
      ),
    isCut: z.boolean().describe("True if files, lines or parts of lines are missing."),
  })
  .meta({ id: "Diff", description: "What a job's branch changes against its base." });
export type JobDiff = z.infer<typeof JobDiff>;
