import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Slots } from "../../core/slots.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** How long after its time a slot is good: those that were held over a pause would otherwise all be used at once. */
const HELD_FOR_MS = 5_000;

/**
 * One gate is a hash: `next`, when the slot after the last one taken begins, and `blocked`, before which no slot is good. Times are
 * Redis's own, and what goes in and out counts from now, so that no replica's clock matters. Redis forgets a gate that nothing holds.
 */
const COMMON = `
  local now = tonumber(ARGV[1])
  if now == nil then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local key = KEYS[1] .. ':slot:' .. ARGV[2]
  local gate = redis.call('HMGET', key, 'next', 'blocked')
  local next, blocked = tonumber(gate[1] or 0), tonumber(gate[2] or 0)
  local function save()
    redis.call('HSET', key, 'next', string.format('%.17g', next), 'blocked', string.format('%.17g', blocked))
    redis.call('PEXPIRE', key, math.ceil(math.max(next, blocked, now) - now) + 60000)
  end
`;

/** now or '', gate, gap, burst, held or ''; returns milliseconds from now */
const RESERVE = `${COMMON}
  local gap, burst, held = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  if held then
    held = now + held
    if now - held <= ${HELD_FOR_MS} and held >= blocked and held <= math.max(next, now) then return 'held' end
  end
  local free = math.max(next - (burst - 1) * gap, blocked, now)
  next = math.max(next, now, blocked) + gap
  save()
  return string.format('%.17g', free - now)
`;

/** now or '', gate, until */
const POSTPONE = `${COMMON}
  local untilAt = now + tonumber(ARGV[3])
  if untilAt <= blocked then return false end
  blocked = math.ceil(untilAt)
  next = math.max(next, blocked)
  save()
  return 'postponed'
`;

/** now or '', gate, limit, window; returns milliseconds from now, or '' when it is taken */
const TAKE = `${COMMON}
  local limit, window = tonumber(ARGV[3]), tonumber(ARGV[4])
  local after = math.max(next, now) + window / limit
  -- A millisecond of slack, for what rounding leaves.
  if after > now + window + 1 then return string.format('%.17g', after - window - now) end
  next = after
  save()
  return ''
`;

/** now or '', gate, limit, window */
const GIVE_BACK = `${COMMON}
  next = next - tonumber(ARGV[4]) / tonumber(ARGV[3])
  save()
  return ''
`;

/** Slots that all replicas on one Redis share. */
export class RedisSlots implements Slots {
  readonly #redis: RedisConnection;
  readonly #clock: Clock;
  readonly #serverNow: (() => number) | undefined;

  /** `serverNow`: for tests, Redis's time, epoch milliseconds. */
  constructor({
    redis,
    clock,
    serverNow,
  }: {
    redis: RedisConnection;
    clock: Clock;
    serverNow?: (() => number) | undefined;
  }) {
    this.#redis = redis;
    this.#clock = clock;
    this.#serverNow = serverNow;
  }

  async reserve(
    gate: string,
    { gapMs, burst = 1 }: { gapMs: number; burst?: number },
    heldMs?: number,
  ): Promise<number> {
    const now = this.#clock.now();
    const held = heldMs === undefined ? "" : String(heldMs - now);
    const answer = await this.#run(RESERVE, gate, [String(gapMs), String(burst), held]);
    if (answer === "held" && heldMs !== undefined) return heldMs;
    return Math.ceil(now + Number(answer));
  }

  async postpone(gate: string, untilMs: number): Promise<void> {
    await this.#run(POSTPONE, gate, [String(untilMs - this.#clock.now())]);
  }

  async take(gate: string, limit: number, windowMs: number): Promise<number | null> {
    const now = this.#clock.now();
    const answer = await this.#run(TAKE, gate, [String(limit), String(windowMs)]);
    return answer === "" ? null : Math.ceil(now + Number(answer));
  }

  async giveBack(gate: string, limit: number, windowMs: number): Promise<void> {
    await this.#run(GIVE_BACK, gate, [String(limit), String(windowMs)]);
  }

  async #run(script: string, gate: string, args: string[]): Promise<string> {
    const now = this.#serverNow === undefined ? "" : String(this.#serverNow());
    const answer = await this.#redis.run(script, [now, gate, ...args]);
    return z.string().nullable().parse(answer) ?? "";
  }
}
