import { z } from "zod";
import { json } from "../base/json.ts";

/** A runner elsewhere as it is stored, without its token's hash. Times are epoch milliseconds. */
export const RunnerRow = z.object({
  id: z.string(),
  name: z.string(),
  /** The ids of the projects that it may run. Null means all. */
  projects: json(z.array(z.string()).nullable()),
  last4: z.string(),
  createdAt: z.int(),
  revokedAt: z.int().nullable(),
  /** True if it gets no more turns. */
  isDraining: z.int().transform((value) => value === 1),
  /** When it last called. Null until then, like all that it says of itself. */
  seenAt: z.int().nullable(),
  version: z.string().nullable(),
  protocol: z.int().nullable(),
  /** Another one with each start. */
  session: z.string().nullable(),
  labels: json(z.array(z.string())),
  /** How many turns it runs at once, and how many more it could take. */
  places: z.int().nullable(),
  free: z.int().nullable(),
});
export type RunnerRow = z.infer<typeof RunnerRow>;

/** What a runner says of itself. The caller has bounded it. */
export type RunnerSays = {
  version: string;
  protocol: number;
  session: string;
  labels: readonly string[];
  places: number;
  free: number;
};
