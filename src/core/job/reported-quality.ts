import { z } from "zod";
import type { ReportedCheck, ReportedTurn } from "../ports/job-service.ts";
import { storedObject } from "../ports/stored-object.ts";
import { plainLine } from "../text/text.ts";

const LINE_MAX = 150;
const NAME_MAX = 40;
const MAX_CHECKS = 20;
const MAX_NOTES = 5;

/** The result of one check of the change. */
const CheckReport = storedObject({
  name: z.string(),
  /**
   * One of {@link ReportedTurn}'s. Accepts any text, because an older version may read a newer
   * one's.
   */
  result: z.string(),
  /** The number of findings, and the first of them or null. */
  findings: z.number(),
  first: z.string().nullable(),
});

/**
 * The job service's report on a change's quality (untrusted, bounded). Fields are absent if it
 * didn't say.
 */
export const QualityReport = {
  checks: z.array(CheckReport).optional(),
  claims: storedObject({ total: z.number(), verified: z.number() }).optional(),
  /** What else people should know, a sentence each. */
  notes: z.array(z.string()).optional(),
};
export type QualityReport = z.infer<z.ZodObject<typeof QualityReport>>;

/** What is kept of the report. */
export function qualityReport({ checks, claims, notes }: ReportedTurn): QualityReport {
  const sentences = notes.map((note) => plainLine(note, LINE_MAX)).filter((note) => note !== "");
  return {
    ...(checks.length === 0 ? {} : { checks: checks.slice(0, MAX_CHECKS).map(checkReport) }),
    ...(claims === null ? {} : { claims }),
    ...(sentences.length === 0 ? {} : { notes: sentences.slice(0, MAX_NOTES) }),
  };
}

/** The number of findings that a list stands for. Its last line may be `… and 7 more`. */
export function countFindings(findings: readonly string[]): number {
  const more = /^… and (\d{1,9}) more$/.exec(findings.at(-1) ?? "")?.[1];
  return more === undefined ? findings.length : findings.length - 1 + Number(more);
}

function checkReport({ name, result, findings }: ReportedCheck): z.infer<typeof CheckReport> {
  const first = plainLine(findings[0] ?? "", LINE_MAX) || null;
  return { name: plainLine(name, NAME_MAX), result, findings: countFindings(findings), first };
}
