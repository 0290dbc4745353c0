import { randomUUID } from "node:crypto";
import { z } from "zod";
import { messageOf } from "../../errors.ts";
import type { Clock, Logger } from "../../machine/ports.ts";
import { StoreAnswerLostError, StoreUnavailableError, StoreUnconfirmedError } from "../store-errors.ts";
import type { RedisConnection } from "./redis-connection.ts";
import type { RedisLink } from "./redis-link.ts";
import { isAtLeast, versionIn } from "./redis-memory.ts";

/** How long a server waits for its standbys. */
const CONFIRM_WITHIN_MS = 1_000;
/** How long too few may confirm before new requests are refused. */
const REFUSE_AFTER_MS = 10_000;
const PROBE_EVERY_MS = 1_000;
/** The first with `WAITAOF`, by which a standby confirms what is on its disk. */
const DISK_VERSION = [7, 2] as const;
const KEEP_MARK_MS = 600_000;

/**
 * The part of a script that marks its call. It uses `P`. `process` and `n`: whose call it is, and
 * its number. The mark says `since:last`: this server's data have all calls from one to the other.
 * A call that isn't the one after the last begins a new row, because the server may lack the one
 * between. If the mark can't be written, the call only counts as unconfirmed.
 */
export const MARK_CALL = `
  local function markCall(process, n)
    local key = P .. ':mark:' .. process
    local since, last = string.match(redis.call('GET', key) or '', '^(%d+):(%d+)$')
    if tonumber(last) ~= n - 1 then since = string.format('%.0f', n) end
    redis.pcall('SET', key, since .. ':' .. string.format('%.0f', n), 'PX', ${KEEP_MARK_MS})
  end
`;

/**
 * ARGV: the process. Returns its mark and writes it again. So everything that the mark tells of
 * comes earlier than this write in what the server sends to its standbys.
 */
const READ_MARK = `
  local key = KEYS[1] .. ':mark:' .. ARGV[1]
  local mark = redis.call('GET', key) or '0:0'
  redis.call('SET', key, mark, 'PX', ${KEEP_MARK_MS})
  return mark
`;

const Mark = z.string().regex(/^\d+:\d+$/);
/** What `WAIT` answers, and what `WAITAOF` does: of this server and of standbys. */
const Confirmed = z.union([z.int(), z.tuple([z.int(), z.int()]).transform(([, standbys]) => standbys)]);

type Waiting = PromiseWithResolvers<void> & { call: number };
type Options = { redis: RedisConnection; clock: Clock; logger: Logger };

/**
 * Has standbys confirm the calls of one process, on a connection of its own, so that nothing else
 * waits. One round confirms all calls that were answered before it began: it reads the mark of
 * these calls and waits on that same server. A server that was promoted without a call doesn't have
 * the call in its mark, and so never confirms it.
 */
export class Confirmations {
  /** Names this process in its mark. */
  readonly process = randomUUID();
  readonly #options: Options;
  readonly #link: RedisLink;
  #waiting: Waiting[] = [];
  #isGoing = false;
  #isClosed = false;
  #canAskForDisk: boolean | null = null;
  /** When the first of the rounds began in which too few confirmed; null after a good one. */
  #shortSinceMs: number | null = null;
  /** What the last round found. */
  #trouble = "";
  #cancelProbe: () => void = noop;

  constructor(options: Options) {
    this.#options = options;
    this.#link = options.redis.link(() => {
      // The server may be another one now.
      this.#canAskForDisk = null;
    });
    this.#link.connect().catch(noop);
  }

  /** True if too few confirmed in the last round. */
  get isShort(): boolean {
    return this.#shortSinceMs !== null;
  }

  /** True if too few have confirmed for ten seconds, so that nothing new should be taken. */
  get isUnsafe(): boolean {
    return this.#shortSinceMs !== null && this.#shortForMs(this.#shortSinceMs) >= REFUSE_AFTER_MS;
  }

  /**
   * Resolves once enough standbys have the changes of an answered call. Rejects with a
   * `StoreUnconfirmedError` if too few have them after a second, or two if others were waiting. If
   * the call can't be confirmed because the server has changed or can't be asked, rejects with a
   * `StoreAnswerLostError`.
   */
  confirm(call: number): Promise<void> {
    const waiting = { ...Promise.withResolvers<void>(), call };
    this.#waiting.push(waiting);
    this.#go();
    return waiting.promise;
  }

  /** Throws a `StoreUnavailableError` that says what to do while it {@link isUnsafe}. */
  assertSafe(): void {
    if (this.#shortSinceMs === null || !this.isUnsafe) return;
    const { redis } = this.#options;
    const seconds = Math.floor(this.#shortForMs(this.#shortSinceMs) / 1000);
    throw new StoreUnavailableError(
      redis.shown,
      `what is written has been on too few machines for ${seconds} s (${this.#trouble}), ` +
        "and new requests are refused",
      "Start the standbys and check that they follow the primary and have appendonly yes. " +
        "It goes on by itself then. To do without them, lower standbys in STORE_URL and restart.",
    );
  }

  /** Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#cancelProbe();
    this.#link.close();
  }

  #shortForMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs;
  }

  #go(): void {
    if (this.#isGoing) return;
    this.#isGoing = true;
    void this.#rounds();
  }

  /** One round after the other, at least one, while something waits. */
  async #rounds(): Promise<void> {
    do {
      // What is asked in this turn of the event loop belongs to the first round.
      await Promise.resolve();
      const covered = this.#waiting.splice(0);
      const beganAtMs = this.#options.clock.monotonicMs();
      const refuse = await this.#round();
      this.#note(beganAtMs);
      for (const { call, resolve, reject } of covered) {
        const refusal = refuse(call);
        if (refusal === null) resolve();
        else reject(refusal);
      }
    } while (this.#waiting.length > 0);
    // Without an await since that look, so that nothing can have begun to wait unseen.
    this.#isGoing = false;
  }

  /** Returns a function that says why a call isn't confirmed, or null if it is. */
  async #round(): Promise<(call: number) => StoreAnswerLostError | null> {
    const { redis } = this.#options;
    const wanted = redis.standbys;
    this.#trouble = "";
    const lost = (problem: string) =>
      new StoreAnswerLostError(redis.shown, problem, "Work goes on by itself once it is known again.");
    try {
      const [since, last, confirmed] = await this.#askServer();
      if (confirmed < wanted) this.#trouble = `${confirmed} of ${wanted} standbys confirm`;
      const short = new StoreUnconfirmedError(
        redis.shown,
        `${confirmed} of ${wanted} standbys confirmed a write in time`,
        "Check that the standbys run and follow the primary.",
      );
      return (call) => {
        if (call < since || call > last) return lost("another server answers, which may lack a write");
        return confirmed < wanted ? short : null;
      };
    } catch (thrown) {
      this.#trouble = `the standbys couldn't be asked: ${messageOf(thrown)}`;
      return () => lost(this.#trouble);
    }
  }

  /** The mark of the server that answers, and how many standbys have what it tells of. */
  async #askServer(): Promise<[since: number, last: number, confirmed: number]> {
    const { redis } = this.#options;
    // It may be reconnecting, as the main connection just did.
    await this.#link.untilReady(CONFIRM_WITHIN_MS);
    this.#canAskForDisk ??= isAtLeast(
      versionIn(await redis.askOn(this.#link, (client) => client.info("server"))),
      DISK_VERSION,
    );
    const within = String(CONFIRM_WITHIN_MS);
    const wait = this.#canAskForDisk
      ? ["WAITAOF", "0", String(redis.standbys), within]
      : ["WAIT", String(redis.standbys), within];
    const asked = { keys: [redis.prefix], arguments: [this.process] };
    // Sent together on one connection, so the same server answers both.
    const [mark, confirmed] = await redis.askOn(this.#link, (client) =>
      Promise.all([client.eval(READ_MARK, asked), client.sendCommand(wait)]),
    );
    const [since = 0, last = 0] = Mark.parse(mark).split(":").map(Number);
    return [since, last, Confirmed.parse(confirmed)];
  }

  #note(beganAtMs: number): void {
    if (this.#isClosed) return;
    const { logger, redis, clock } = this.#options;
    const wasShort = this.isShort;
    if (this.#trouble === "") {
      this.#shortSinceMs = null;
      if (wasShort) logger.info({ store: redis.shown }, "store: enough standbys confirm again");
      return;
    }
    this.#shortSinceMs ??= beganAtMs;
    if (!wasShort) {
      const fields = { store: redis.shown, error: this.#trouble };
      logger.error(fields, "store: what is written is on too few machines; trying again");
    }
    this.#cancelProbe();
    this.#cancelProbe = clock.wakeAt(clock.now() + PROBE_EVERY_MS, () => this.#go());
  }
}

function noop(): void {}
