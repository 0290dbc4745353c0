import { z } from "zod";

/** What a diff has at most. `bytes` are those of its text as it is sent, in JSON. */
export const DIFF_LIMITS = { files: 300, bytes: 512 * 1024, lineChars: 500 } as const;

const Count = z.int().min(0);
const Status = z.enum(["added", "changed", "removed"]);

/** What a job's branch changes against its base, in wire format. */
export const WireDiff = z
  .object({
    files: z
      .array(
        z.object({
          path: z.string().describe("The file's path, for people: cut, without control characters."),
          status: Status.describe("What happened to it. A renamed file is removed and added."),
          additions: Count.nullable().describe("Added lines; null: it is no text."),
          deletions: Count.nullable().describe("Removed lines; null: it is no text."),
        }),
      )
      .max(DIFF_LIMITS.files)
      .describe(`The first ${DIFF_LIMITS.files} changed files, by path.`),
    fileCount: Count.describe("All changed files."),
    diff: z
      .string()
      .describe(
        `As git writes it, at most ${DIFF_LIMITS.bytes} bytes. Lines end after ` +
          `${DIFF_LIMITS.lineChars} characters. Of files that are no text it has the names only.`,
      ),
    isCut: z.boolean().describe("True if files, lines or parts of lines are missing."),
  })
  .meta({ id: "Diff", description: "What a job's branch changes against its base." });
export type WireDiff = z.infer<typeof WireDiff>;
