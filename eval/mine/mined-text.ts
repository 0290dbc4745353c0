import type { PlaceKind } from "./places.ts";
import { type Reason, REASONS } from "./screen.ts";
import type { Seen } from "./mine.ts";
import type { MinedTask } from "./mined-task.ts";

/** What was found in a history, in numbers. */
export type Mined = {
  repository: string;
  since: string;
  commits: number;
  tasks: number;
  kinds: Partial<Record<PlaceKind, number>>;
  requests: { issue: number; told: number };
  fellOut: Partial<Record<Reason, number>>;
};

/** Counts what became of the commits. */
export function minedOf(
  repository: string,
  since: string,
  seen: readonly Seen[],
  tasks: readonly MinedTask[],
): Mined {
  const counted = <Key extends string>(keys: readonly Key[]): Partial<Record<Key, number>> => {
    const counts: Partial<Record<Key, number>> = {};
    for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
    return counts;
  };
  const requests = counted(tasks.flatMap(({ file }) => file.mined?.request ?? []));
  return {
    repository,
    since,
    commits: seen.length,
    tasks: tasks.length,
    kinds: counted(tasks.map(({ file }) => file.kind)),
    requests: { issue: requests.issue ?? 0, told: requests.told ?? 0 },
    fellOut: counted(seen.flatMap(({ reason }) => reason ?? [])),
  };
}

/** The numbers for people. */
export function minedText({ commits, since, tasks, kinds, requests, fellOut }: Mined): string {
  const named = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  const reasons = (Object.keys(REASONS) as Reason[]).flatMap((reason) => {
    const count = fellOut[reason];
    return count === undefined
      ? []
      : [`${String(count).padStart(6)}  ${reason.padEnd(16)}${REASONS[reason]}`];
  });
  return [
    `${commits} commits since ${since}, ${tasks} became tasks.`,
    ...(tasks === 0 ? [] : [`By kind: ${named.join(", ")}.`]),
    ...(tasks === 0
      ? []
      : [`Requests: ${requests.issue} in an issue's words, ${requests.told} told by the commit.`]),
    "",
    "The others fell out:",
    ...reasons,
    "",
  ].join("\n");
}
