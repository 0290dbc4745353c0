import { z } from "zod";
import { SHOWN_CHARS } from "./reading.ts";

export const MAX_CHECKS = 10;
export const MAX_FINDINGS = 5;

/**
 * The result of one of the project's checks (untrusted text, bounded). One that is `not-checked`
 * says nothing about the change.
 */
export const ProjectCheck = z
  .object({
    name: z.string().max(SHOWN_CHARS.line).describe("Its name in the project's settings."),
    result: z
      .enum(["passed", "failed", "unchanged", "not-checked"])
      .describe(
        "`failed`: there are new findings. `unchanged`: there are none, but it fails without the change, " +
          "too. `not-checked`: it couldn't run. Later versions may add values.",
      ),
    findings: z
      .array(z.string().max(SHOWN_CHARS.line))
      .max(MAX_FINDINGS)
      .describe("What is new against the base, one line each. For `not-checked`, the reason."),
  })
  .meta({ id: "Check", description: "What one of the project's checks found in the change." });
export type ProjectCheck = z.infer<typeof ProjectCheck>;

/** What is said of a check that fails as it does without the change. */
export const NOTHING_NEW = "nothing new; it fails without the change, too";

/** The number of findings that a list stands for. Its last line may be `… and 7 more`. */
export function countFindings(findings: readonly string[]): number {
  const more = /^… and (\d{1,9}) more$/.exec(findings.at(-1) ?? "")?.[1];
  return more === undefined ? findings.length : findings.length - 1 + Number(more);
}
