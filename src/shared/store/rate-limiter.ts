/** A gate lets `limit` through in `windowMs` milliseconds, and regains room evenly. */
export type Limit = { gate: string; limit: number; windowMs: number };

/** A time of one's own at a gate. */
export type ReservedTime = {
  /** When it comes, epoch milliseconds by this machine's clock. */
  at: number;
  /**
   * When it comes by the clock that all replicas share. A task keeps this and gives it back,
   * because another replica, whose clock may be minutes away, may go on with the task.
   */
  reservedMs: number;
};

/**
 * Hands out times: each caller gets one of its own at once, first come, first served. So the rates
 * that Slack and job services allow are kept.
 */
export interface RateLimiter {
  /**
   * Takes the gate's next free time. That is now if the gate is free. `burst` is how many callers
   * an idle gate lets through at once. `heldMs` is the `reservedMs` of a time reserved before: it
   * is still good unless the gate was postponed past it or it passed seconds ago. Without a burst,
   * times that are used late still keep the gap: if several come late together, all but the first
   * get a slightly later time.
   */
  reserve(gate: string, rate: { gapMs: number; burst?: number }, heldMs?: number): Promise<ReservedTime>;
  /**
   * Takes a time, which is now, if the gate is idle: its burst is all saved up, none was used
   * within the gap, and it isn't postponed. Otherwise takes none and returns null. So optional
   * calls never delay others by more than one gap.
   */
  takeIfIdle(gate: string, rate: { gapMs: number }): Promise<ReservedTime | null>;
  /** Makes the gate's times good only from `untilMs` on. */
  postpone(gate: string, untilMs: number): Promise<void>;
  /**
   * When the gate's times are good again, epoch milliseconds. That is now unless the gate was
   * postponed. Takes none.
   */
  openAt(gate: string): Promise<number>;
  /** Removes the gates whose names end in a colon and this id. Durable when it resolves. */
  forget(id: string): Promise<void>;
}
