/**
 * How the first try to post a status message went in this process: whether Slack refused it for
 * now.
 */
export type FirstTries = {
  /**
   * Resolves to true if Slack refuses the turn's status message, to false if it takes it or isn't
   * asked within `ms`.
   */
  isRefused: (turnId: string, ms: number) => Promise<boolean>;
  note: (turnId: string, isRefused: boolean) => void;
};

/**
 * Lets a command wait for its status message. One at a time: under load, answers are more urgent.
 */
export function createFirstTries(): FirstTries {
  const waiting = new Map<string, (isRefused: boolean) => void>();
  return {
    async isRefused(turnId, ms) {
      if (waiting.size > 0) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(turnId, resolve);
      const timer = setTimeout(() => resolve(false), ms);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(turnId);
      }
    },
    note(turnId, isRefused) {
      waiting.get(turnId)?.(isRefused);
    },
  };
}
