/** The statuses of an app's session in a thread: https://docs.slack.dev/ai/agent-sessions */
export const SESSION_STATUSES = ["active", "processing", "suspended", "closed"] as const;
type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * An indicator is over after two minutes, and a loader after an hour
 * (NousResearch/hermes-agent#90978).
 */
const INDICATOR_MS = 120_000;
const LOADER_MS = 3_600_000;

type Drawn = { text: string; untilMs: number; isLoader?: true };

/**
 * What Slack draws of the app's work below each thread: the indicator, or the loader of a session
 * that is processing. They take the same place, so the last call wins, and takes the loader's Stop
 * button with it (agentconnect-md/agentconnect#1483).
 */
export class ThreadStatuses {
  readonly #drawn = new Map<string, Drawn>();
  readonly #sessions = new Map<string, SessionStatus>();
  readonly #now: () => number;
  readonly #changed: () => void;

  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /** Sets the indicator, for two minutes or until the app posts there. Null removes it. */
  setIndicator(channelId: string, threadTs: string, text: string | null): void {
    this.#draw(
      `${channelId} ${threadTs}`,
      text === null ? null : { text, untilMs: this.#now() + INDICATOR_MS },
    );
  }

  /** Sets the status of the app's session. Its loader stays when the app posts. */
  setSession(channelId: string, threadTs: string, status: SessionStatus): void {
    const id = `${channelId} ${threadTs}`;
    this.#sessions.set(id, status);
    if (status === "processing") {
      this.#draw(id, { text: "Working…", untilMs: this.#now() + LOADER_MS, isLoader: true });
    } else if (this.#drawn.get(id)?.isLoader === true) {
      this.#draw(id, null);
    }
  }

  /** Notes that the app posts in a thread. */
  posted(channelId: string, threadTs: string): void {
    const id = `${channelId} ${threadTs}`;
    if (this.#drawn.get(id)?.isLoader !== true) this.#drawn.delete(id);
  }

  /** Returns the words that are drawn. Null if there are none, or they are over. */
  drawn(channelId: string, threadTs: string): string | null {
    return this.#of(channelId, threadTs)?.text ?? null;
  }

  /** True while a session's loader is drawn. */
  hasLoader(channelId: string, threadTs: string): boolean {
    return this.#of(channelId, threadTs)?.isLoader === true;
  }

  /** Returns the status of the app's session as it was set last. Null if there is none. */
  session(channelId: string, threadTs: string): SessionStatus | null {
    return this.#sessions.get(`${channelId} ${threadTs}`) ?? null;
  }

  #of(channelId: string, threadTs: string): Drawn | undefined {
    const drawn = this.#drawn.get(`${channelId} ${threadTs}`);
    return drawn !== undefined && drawn.untilMs > this.#now() ? drawn : undefined;
  }

  #draw(id: string, drawn: Drawn | null): void {
    if (drawn === null) this.#drawn.delete(id);
    else this.#drawn.set(id, drawn);
    this.#changed();
  }
}
