import type { Turn } from "./turn.ts";

/** Whether an outcome was helpful to somebody. */
type Vote = "yes" | "no";

/** The most people whose votes a turn keeps. */
const VOTERS_MAX = 100;

/** The turn with somebody's vote, in place of the one before. The same object: it is known, or there are too many. */
export function noteVote(turn: Turn, userId: string, vote: Vote): Turn {
  const votes = turn.votes ?? {};
  const isFull = votes[userId] === undefined && Object.keys(votes).length >= VOTERS_MAX;
  if (isFull || votes[userId] === vote) return turn;
  return { ...turn, votes: { ...votes, [userId]: vote } };
}

/** How many found the outcome helpful, and how many didn't. */
export function votesOf({ votes = {} }: Turn): Record<Vote, number> {
  const all = Object.values(votes);
  return { yes: all.filter((vote) => vote === "yes").length, no: all.filter((vote) => vote === "no").length };
}
