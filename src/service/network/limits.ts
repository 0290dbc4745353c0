/** Bounds of one turn's network that no setting changes. */
export type NetworkLimits = {
  /** Connections from the agent at once; more are closed. */
  connections: number;
  /** A connection to a host is closed after this long without a byte. */
  idleMs: number;
  /** Time to reach a host or a model upstream. */
  connectMs: number;
  /** Request lines and headers, in bytes. */
  headerBytes: number;
  /** Model calls at once; more wait. */
  modelCalls: number;
  /** The body of one model call, in bytes. */
  modelRequestBytes: number;
  /** Time for that body to arrive; it comes from this machine. */
  modelRequestMs: number;
  /** The answer to one model call, in bytes. */
  modelAnswerBytes: number;
  /** Time until a model begins to answer: some think for minutes without a word. */
  modelHeadersMs: number;
  /** Longest pause in a model's answer. */
  modelPauseMs: number;
  /** Lines in the log. */
  logLines: number;
};

export const NETWORK_LIMITS: NetworkLimits = {
  connections: 128,
  idleMs: 2 * 60_000,
  connectMs: 10_000,
  headerBytes: 16 * 1024,
  modelCalls: 8,
  modelRequestBytes: 8 * 1024 ** 2,
  modelRequestMs: 30_000,
  modelAnswerBytes: 64 * 1024 ** 2,
  modelHeadersMs: 10 * 60_000,
  modelPauseMs: 5 * 60_000,
  logLines: 2000,
};
