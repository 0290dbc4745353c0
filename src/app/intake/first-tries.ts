/** Tells if Slack refused, for now, the first attempt of this process to post a status message. */
export type FirstTries = ReturnType<typeof createFirstTries>;

/**
 * Lets a command wait for its status message. Only one waits at a time, because under load quick
 * answers matter more.
 */
export function createFirstTries() {
  const waiting = new Map<string, (isRefused: boolean) => void>();
  return {
    /**
     * Resolves to true if Slack refuses the turn's status message, and to false if it accepts it or
     * isn't asked within `ms`.
     */
    async isRefused(turnId: string, ms: number): Promise<boolean> {
      if (waiting.size > 0) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(turnId, resolve);
      const timer = setTimeout(resolve, ms, false);
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(turnId);
      });
    },
    note(turnId: string, isRefused: boolean): void {
      waiting.get(turnId)?.(isRefused);
    },
  };
}
