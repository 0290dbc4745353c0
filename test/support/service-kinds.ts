import type { JobServiceSideOptions } from "../../world/job-service/side.ts";

/** A job service with everything that we know of. Its feed can't be reached. */
export const OFFERS_EVERYTHING: JobServiceSideOptions = { level: 1 };

/**
 * The kinds of job services, by what they announce. People get the same from each, except what it
 * can't report.
 */
export const SERVICE_KINDS: [string, JobServiceSideOptions][] = [
  ["a service that knows only the contract", {}],
  ["one that honors idempotency keys", { idempotencyKeys: true }],
  ["one that offers everything", OFFERS_EVERYTHING],
  ["one that tells what changes", { ...OFFERS_EVERYTHING, changes: "at-once" }],
];

/** A job service that offers everything, in real time. */
export const TELLS_CHANGES: JobServiceSideOptions = { ...OFFERS_EVERYTHING, changes: "held" };
