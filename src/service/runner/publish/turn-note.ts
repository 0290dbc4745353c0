import { z } from "zod";
import { json } from "../../base/json.ts";
import { type JobNotes, TurnQuality } from "../runner.ts";
import { CheckedClaim, MAX_JOINED_CLAIMS } from "./checked-claim.ts";

/** Texts about a change, each with what is left of it without the words of others. */
export const Withheld = z.array(z.object({ text: z.string(), rest: z.string() }));
export type Withheld = z.infer<typeof Withheld>;

/** What is told of an earlier turn that is in the branch. Bounded and redacted. */
const NotedTurn = z.object({
  /** Identifies the turn. */
  turnKey: z.string(),
  claims: z.array(CheckedClaim),
  leftOut: z.array(z.string()),
  /** Who asked, or null if that isn't known. */
  requester: z.object({ name: z.string(), link: z.string().nullable() }).nullable(),
});
export type NotedTurn = z.infer<typeof NotedTurn>;

/** The result of a turn before its pull request. Bounded and redacted. */
export const TurnWork = TurnQuality.omit({ claims: true }).extend({
  commit: z.string(),
  summary: z.string().nullable().default(null),
  leftOut: z.array(z.string()).default([]),
  /** Null if the agent named no sources. */
  claims: z.array(CheckedClaim).nullable().default(null),
  /**
   * What must be left out of the texts that are told in public. Null if nobody has looked: then
   * these texts aren't told.
   */
  withheld: Withheld.nullable().default(null),
  /** The earlier turns in the branch, oldest first, with what still holds of them. */
  earlier: z.array(NotedTurn).default([]),
  /** True if a blocking check has new findings. */
  hasBlockingFindings: z.boolean().default(false),
});
export type TurnWork = z.infer<typeof TurnWork>;

/**
 * What a job's last commit doesn't say about itself. It is kept after the turn's end, because the
 * service may die before it has noted that.
 */
export const TurnNote = TurnWork.extend({
  version: z.literal(1),
  /** Identifies the turn. */
  turnKey: z.string(),
  requester: NotedTurn.shape.requester.default(null),
  /** True if the commit has certainly reached the remote. */
  isPushed: z.boolean(),
  /** When it has, in epoch milliseconds. Null if it hasn't, or that isn't known. */
  pushedAt: z.number().nullable().default(null),
  /** The branch's open pull request before the push, and its newest one. */
  openPull: z.int().nullable(),
  newestPull: z.int().nullable(),
});
export type TurnNote = z.infer<typeof TurnNote>;

/** More turns aren't kept. The newest are. */
const MAX_TURNS = 50;

/**
 * The turns of a job that a turn follows, as the job's last note has them. Of their claims, the
 * newest are kept.
 */
export function turnsBefore(note: TurnNote | null, turnKey: string): NotedTurn[] {
  if (note === null) return [];
  const { claims, leftOut, requester } = note;
  const last = { turnKey: note.turnKey, claims: claims ?? [], leftOut, requester };
  let room = MAX_JOINED_CLAIMS;
  return [...note.earlier, last]
    .filter((each) => each.turnKey !== turnKey)
    .slice(-MAX_TURNS)
    .toReversed()
    .map((each) => {
      const kept = each.claims.slice(0, room);
      room -= kept.length;
      return { ...each, claims: kept };
    })
    .toReversed();
}

/**
 * Written before and after the push. A crash leaves either the old note or the new one. Null means
 * that there is none.
 */
export async function writeTurnNote(notes: JobNotes, note: TurnNote | null): Promise<void> {
  await notes.write("turn", JSON.stringify(note));
}

/** The note of the job's last commit, or null if there is none that can be read. */
export async function readTurnNote(notes: JobNotes): Promise<TurnNote | null> {
  return json(TurnNote).safeParse(await notes.read("turn")).data ?? null;
}

/** The sources of a turn that answered and changed nothing. Those of the newest one are kept. */
const AnswerSources = z.object({
  version: z.literal(1),
  /** Identifies the turn. */
  turnKey: z.string(),
  claims: z.array(CheckedClaim),
});
export type AnswerSources = z.infer<typeof AnswerSources>;

/** Written at the turn's end, for those who read what an answer rests on. */
export async function writeAnswerSources(notes: JobNotes, sources: AnswerSources): Promise<void> {
  await notes.write("sources", JSON.stringify(sources));
}

/** The sources of the job's newest answer that named any, or null if none can be read. */
export async function readAnswerSources(notes: JobNotes): Promise<AnswerSources | null> {
  return json(AnswerSources).safeParse(await notes.read("sources")).data ?? null;
}
