import type { AboutAnswer, ClaimRequest } from "../runner/protocol.ts";
import type { RunnerDesk } from "./desk.ts";

/** Whoever calls: what stands behind the token of a runner. */
export type RunnerCaller = {
  /**
   * The desk of a runner that asks for work. Call `onPlaces` once its places count. Throws a
   * `RunnerConflictError` if it may have none beside those that are there.
   */
  deskFor: (claim: ClaimRequest) => { desk: RunnerDesk; onPlaces: () => void };
  /** The desk that has a piece of work, or null. */
  deskOf: (workId: string) => RunnerDesk | null;
  /** True if a piece of work that no desk has is about to be taken up again. */
  isExpected: (workId: string, token: string) => boolean;
  /** What only a runner elsewhere may ask for, if it is one. */
  lend: Lend | null;
};

/** What a runner elsewhere gets for a piece of work that it has. */
export type Lend = {
  /** What it has to know before it asks for work. */
  about: () => AboutAnswer;
  /** A token for the repository, or null if the runner has to have one itself. */
  repositoryToken: (workId: string, refused: string | null, signal: AbortSignal) => Promise<string | null>;
  /** Whose commits these are, as JSON. */
  identity: (workId: string, signal: AbortSignal) => Promise<object>;
  /** Passes a call on to a model. */
  callModel: (workId: string, request: Request) => Promise<Response>;
};
