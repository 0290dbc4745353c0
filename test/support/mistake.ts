import type { DoctorFinding } from "../../src/service/cli/finding.ts";

/** What a person does, and what they are told: what is wrong, and what to do. */
export type Mistake = readonly [mistake: string, change: Readonly<Record<string, unknown>>, told: string];

/** A finding as one text: what is wrong, and what to do. */
export function inWords({ found, todo }: Pick<DoctorFinding, "found" | "todo">): string {
  return todo === null ? found : `${found} ${todo}`;
}
