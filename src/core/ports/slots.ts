/**
 * Reserved slots: who asks gets a time of their own, first come, first served, and waits for
 * nobody. They hold the rates that Slack and job services allow.
 */
export interface Slots {
  /**
   * The time of the gate's next free slot (epoch milliseconds), which is then taken; it is now when
   * the gate is free. `burst`: how many slots a gate that was idle gives away at once. `heldMs`: a
   * slot reserved before; it is still good unless the gate was postponed past it, or its time is
   * over by seconds. Without a burst, slots whose time has come are used a gap apart: of those that
   * come late together, each but the first gets a time a little later.
   */
  reserve(gate: string, rate: { gapMs: number; burst?: number }, heldMs?: number): Promise<number>;
  /**
   * Takes a slot for now if nobody has or waits for one: all of the gate's burst is saved up, and
   * it is not postponed. Otherwise takes none. So what can be left out never delays anything else
   * by more than one gap.
   */
  takeIfIdle(gate: string, rate: { gapMs: number }): Promise<boolean>;
  /** No slot of the gate is good before `untilMs`. */
  postpone(gate: string, untilMs: number): Promise<void>;
  /**
   * When the gate's slots are good again (epoch milliseconds); it is now unless the gate was
   * postponed. Takes none.
   */
  openAt(gate: string): Promise<number>;
}
