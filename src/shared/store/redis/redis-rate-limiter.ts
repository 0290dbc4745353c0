import { z } from "zod";
import type { Clock } from "../../machine/ports.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { RedisConnection } from "./redis-connection.ts";

/**
 * How long a reserved time stays good after it came. Otherwise times held over a pause would all be
 * used at once.
 */
const HELD_FOR_MS = 5_000;

/**
 * The beginning of every script. ARGV[1] is empty, or the time in a test (epoch milliseconds).
 * Times are Redis's own. Other arguments and answers count from now, so that no replica's clock
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
 * A gate is stored as three times: the next one that is free after those taken, before which time
 * none is good, and when one was last used. Redis removes a gate that nothing holds. Limits are
 * gates that use only the first time. The key says `slot`, as it always did.
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
  local function reserved(at) return { exact(math.ceil(at)), exact(at - now) } end
  local function save() writeGate(ARGV[2], now, next, blocked, used) end
`;

/**
 * now or '', gate, gap, burst, held or ''; returns the reserved time and in how many milliseconds
 * it comes, which is less than 0 if it came while it was held
 */
const RESERVE = `${COMMON}
  local gap, burst, held = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local apart = burst == 1 and used + gap or 0
  if held then
    if now - held <= ${HELD_FOR_MS} and held >= blocked and held <= math.max(next, now) then
      if held > now then return reserved(held) end
      if apart > now then return reserved(apart) end
      used = now
      save()
      return reserved(held)
    end
  end
  local free = math.max(next - (burst - 1) * gap, blocked, now, apart)
  next = math.max(next, now, blocked, apart) + gap
  if free <= now then used = now end
  save()
  return reserved(free)
`;

/** now or '', gate, gap; returns the time as RESERVE does, or nothing */
const TAKE_IF_IDLE = `${COMMON}
  local gap = tonumber(ARGV[3])
  if math.max(next, blocked, used + gap) > now then return false end
  next = now + gap
  used = now
  save()
  return reserved(now)
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
  return exact(math.max(blocked - now, 0))
`;

const SCAN_COUNT = 1_000;

const ReservedAnswer = z.tuple([z.coerce.number(), z.coerce.number()]);

/** The rate limiter that all replicas on one Redis share. */
export function openRedisRateLimiter(redis: RedisConnection, clock: Clock): RateLimiter {
  /** What was asked in this turn of the event loop. Many polls of a project begin together. */
  const opening = new Map<string, Promise<number>>();
  function run(script: string, gate: string, ...numbers: (number | "")[]): Promise<unknown> {
    return redis.run(script, [redis.now, gate, ...numbers.map(String)]);
  }
  return {
    async reserve(gate, { gapMs, burst = 1 }, heldMs) {
      const now = clock.now();
      const [reservedMs, inMs] = ReservedAnswer.parse(await run(RESERVE, gate, gapMs, burst, heldMs ?? ""));
      const at = Math.ceil(now + inMs);
      // For Redis the time hadn't come yet, however long its answer took. Its holder comes again,
      // and then it is.
      return { at: inMs > 0 ? Math.max(at, clock.now() + 1) : at, reservedMs };
    },
    async takeIfIdle(gate, { gapMs }) {
      const answer = ReservedAnswer.nullable().parse(await run(TAKE_IF_IDLE, gate, gapMs));
      return answer && { at: clock.now(), reservedMs: answer[0] };
    },
    async postpone(gate, untilMs) {
      opening.delete(gate);
      await run(POSTPONE, gate, untilMs - clock.now());
    },
    async forget(id) {
      const options = { MATCH: `${redis.prefix}:slot:*:${id}`, COUNT: SCAN_COUNT };
      let cursor = "0";
      do {
        const from = cursor;
        const page = await redis.ask((client) => client.scan(from, options));
        ({ cursor } = page);
        if (page.keys.length > 0) await redis.ask((client) => client.unlink(page.keys));
      } while (cursor !== "0");
    },
    openAt(gate) {
      const known = opening.get(gate);
      if (known !== undefined) return known;
      const now = clock.now();
      const openAt = run(OPEN, gate).then((inMs) => Math.ceil(now + z.coerce.number().parse(inMs)));
      opening.set(gate, openAt);
      process.nextTick(() => opening.delete(gate));
      return openAt;
    },
  };
}
