import type { Turn } from "./turn.ts";

/** True if somebody has asked for the same again since. */
export function isTriedAgain({ pressed, watch }: Turn): boolean {
  return pressed[watch]?.action === "try-again";
}

type Tried = { turn: Turn; latest: Turn };

/** The turns that one message shows, oldest first, without those that try another of them again; `latest` is the newest try of each. */
export function withLatestTries([first, ...others]: readonly [Turn, ...Turn[]]): [Tried, ...Tried[]] {
  const shown: [Tried, ...Tried[]] = [{ turn: first, latest: first }];
  const byId = new Map([[first.id, shown[0]]]);
  for (const turn of others) {
    const before = byId.get(turn.request.retries?.turnId ?? "");
    const entry = before ?? { turn, latest: turn };
    entry.latest = turn;
    if (before === undefined) shown.push(entry);
    byId.set(turn.id, entry);
  }
  return shown;
}
