import { z } from "zod";
import type { Clock } from "../../core/ports/process.ts";
import type { Slots } from "../../core/ports/records.ts";
import type { RedisConnection } from "./redis-connection.ts";

/**
 * How long a slot stays good after its time. Otherwise slots held over a pause would all be used at
 * once.
 */
const HELD_FOR_MS = 5_000;

/**
 * The beginning of every script. ARGV[1] is empty, or the time in a test (epoch milliseconds).
 * Times are Redis's own, and arguments and answers count from now, so that no replica's clock
 * matters.
 */
export const NOW = `
  local P = KEYS[1]
  local now = tonumber(ARGV[1])
  if now == nil then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
`;

/**
 * A gate is stored as three times: when the slot after the last taken one begins, before which time
 * no slot is good, and when one was last used. Redis removes a gate that nothing holds. Limits are
 * gates that use only the first time.
 */
export const GATES = `
  local function gateKey(gate) return P .. ':slot:' .. gate end
  local function exact(n) return string.format('%.17g', n) end
  local function readGate(gate)
    local times = redis.call('GET', gateKey(gate)) or '0 0 0'
    local next, blocked, used = string.match(times, '^(%S+) (%S+) (%S+)$')
    return tonumber(next), tonumber(blocked), tonumber(used)
  end
  local function writeGate(gate, now, next, blocked, used)
    local keepMs = math.ceil(math.max(next, blocked, now) - now) + 60000
    redis.call('SET', gateKey(gate), exact(next) .. ' ' .. exact(blocked) .. ' ' .. exact(used), 'PX', keepMs)
  end
`;

const COMMON = `${NOW} ${GATES}
  local next, blocked, used = readGate(ARGV[2])
  local text = exact
  local function save() writeGate(ARGV[2], now, next, blocked, used) end
`;

/**
 * now or '', gate, gap, burst, held or ''; returns milliseconds from now, or `held` if the slot is
 * in use from now on
 */
const RESERVE = `${COMMON}
  local gap, burst, held = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local apart = burst == 1 and used + gap or 0
  if held then
    held = now + held
    if now - held <= ${HELD_FOR_MS} and held >= blocked and held <= math.max(next, now) then
      if held > now then return text(held - now) end
      if apart > now then return text(apart - now) end
      used = now
      save()
      return 'held'
    end
  end
  local free = math.max(next - (burst - 1) * gap, blocked, now, apart)
  next = math.max(next, now, blocked, apart) + gap
  if free <= now then used = now end
  save()
  return text(free - now)
`;

/** now or '', gate, gap */
const TAKE_IF_IDLE = `${COMMON}
  if math.max(next, blocked) > now then return false end
  next = now + tonumber(ARGV[3])
  used = now
  save()
  return 'taken'
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

/** now or '', gate; returns milliseconds from now */
const OPEN = `${COMMON}
  return text(math.max(blocked - now, 0))
`;

const Answer = z.string().nullable();

/** Slots shared by all replicas on one Redis. */
export class RedisSlots implements Slots {
  readonly #redis: RedisConnection;
  readonly #clock: Clock;

  constructor(redis: RedisConnection, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
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
    const inMs = Number(answer);
    const at = Math.ceil(now + inMs);
    // For Redis the slot wasn't in use yet, however long its answer took. Its holder comes again,
    // and then it is.
    return inMs > 0 ? Math.max(at, this.#clock.now() + 1) : at;
  }

  async takeIfIdle(gate: string, { gapMs }: { gapMs: number }): Promise<boolean> {
    return (await this.#run(TAKE_IF_IDLE, gate, [String(gapMs)])) === "taken";
  }

  async postpone(gate: string, untilMs: number): Promise<void> {
    await this.#run(POSTPONE, gate, [String(untilMs - this.#clock.now())]);
  }

  async openAt(gate: string): Promise<number> {
    const now = this.#clock.now();
    return Math.ceil(now + Number(await this.#run(OPEN, gate, [])));
  }

  async #run(script: string, gate: string, args: string[]): Promise<string> {
    const answer = await this.#redis.run(script, [this.#redis.now, gate, ...args]);
    return Answer.parse(answer) ?? "";
  }
}
