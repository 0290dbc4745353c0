import { MARK_CALL } from "../../store/redis/confirmations.ts";
import { GATES, NOW } from "../../store/redis/redis-rate-limiter.ts";
import { COMMIT } from "./commit-script.ts";

/**
 * The task queue on Redis: how tasks are stored there, and the script that changes them.
 *
 * All keys begin with KEYS[1]:
 *
 * - `:task:<id>` is a hash with the task's state. `claim` is the token of the run that may end it.
 *   `onDuplicate` is stored as `known`, and `unexpectedFailures` as `surprises`.
 * - `:due:<pool>` has the pool's unfinished tasks. A waiting task's score is when it is due. A
 *   running task's score is when its lease ends: from then on it is due again, for any process.
 * - `:pools` has the pools with tasks. A pool's score is when its first task is due, or earlier. It
 *   is corrected when that time has come, so that nobody has to look into every pool.
 * - `:done:<id>` is a done task whose id stays known. `:dead` has the abandoned tasks, by time.
 * - `:doubtful` has the tasks that were running in two process deaths, by how many. `:alone` is the
 *   only one of them that may run.
 * - `:mark:<process>` says which calls of a process are here: see `confirmations.ts`.
 * - `:slot:<gate>` is a gate: see `redis-rate-limiter.ts`. `:<kind>:<id>` is a record,
 *   `:series:<name>` a series.
 * - `:wake` is a channel, not a key. A message says that something is due which the process it
 *   names didn't claim itself.
 *
 * Everything that a process requests within one turn of the event loop, or during an earlier call,
 * goes to Redis as one call of the script. The same call claims due tasks, as far as the process
 * has room. The script's changes take effect together or not at all:
 *
 * - A commit carries out a decision only if each record that it read still has the same hash, each
 *   limit has room, and the run it belongs to still has its claim.
 * - A claim writes a token into each task. A later claim writes another token, and anything more
 *   from the first run is refused. A lease that ends without a word counts as a death of the
 *   process.
 *
 * Times are Redis's own. Arguments and answers count from now, so no replica's clock matters.
 * Nothing depends on wake-ups: each process also asks when the next task is due, and every two
 * seconds. A script that Redis has forgotten is sent again (`RedisConnection.run`).
 */

/** The beginning of all scripts on tasks. */
const BEGIN = `${NOW}
  local call = redis.call
  local function taskKey(id) return P .. ':task:' .. id end
  local function poolKey(pool) return P .. ':due:' .. pool end
  local function whole(n) return string.format('%.0f', n) end
  local function dueOf(score) return math.floor(tonumber(score)) end
  local function fields(id, ...) return unpack(call('HMGET', taskKey(id), ...)) end
`;

/**
 * ARGV: now (empty, or the time in a test), the lease and how long done ids are kept, in
 * milliseconds, the number of the call, what to claim (empty if nothing), the process whose calls
 * standbys confirm (empty if none does), then the requests: each a kind, the number of its
 * arguments, and the arguments. Returns an answer to each request, even if one fails, and finally
 * one to the claim. Among tasks due at the same time, those of earlier calls come first, by the
 * fraction of their score.
 *
 * What to claim is JSON: the `token` and the name of the `process`, whether it `mayBegin` any, the
 * `budgets`, how much of each pool is `held`, and earlier claims whose answers were `lost`: each
 * token, and how many milliseconds `ago` it was made at most. The answer is a list of tasks, then
 * the milliseconds until the next task is due.
 */
export const WORK = `${BEGIN} ${GATES} ${MARK_CALL}
  local LEASE, KEEP_DONE, CALL = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local ORDER = CALL % 4096 / 4096
  local asked = ARGV[5] ~= '' and cjson.decode(ARGV[5])
  local at = 7
  local function take()
    at = at + 1
    return ARGV[at - 1]
  end
  local function some(text)
    if text ~= '' then return text end
  end
  local function try(work, last)
    local isDone, answer = pcall(work, last)
    if isDone then return answer end
    return { 'failed', type(answer) == 'table' and answer.err or tostring(answer) }
  end

  -- When the first task of each pool is due (false: it has none), as far as that is known, and the
  -- pools for which it is not what ':pools' says.
  local firstOf, changed, isDueNow = {}, {}, false
  local function lookAtPools()
    local pools = call('ZRANGE', P .. ':pools', 0, -1, 'WITHSCORES')
    for n = 1, #pools, 2 do firstOf[pools[n]] = dueOf(pools[n + 1]) end
  end

  local function wait(id, pool, due)
    call('ZADD', poolKey(pool), string.format('%.6f', due + ORDER), id)
    if not firstOf[pool] or due < firstOf[pool] then firstOf[pool], changed[pool] = due, true end
    isDueNow = isDueNow or due <= now
  end

  local function isAlone(id) return call('GET', P .. ':alone') == id end

  local kinds = {}
  ${COMMIT}

  -- Pairs of task and token: their leases begin anew. Returns whether each of these runs still has
  -- its task.
  function kinds.renew(last)
    local held = ''
    while at <= last do
      local id, token = take(), take()
      local claim, pool, deaths = fields(id, 'claim', 'pool', 'deaths')
      if claim == token then
        call('ZADD', poolKey(pool), 'XX', whole(now + LEASE), id)
        if tonumber(deaths) >= 2 and isAlone(id) then call('PEXPIRE', P .. ':alone', whole(LEASE)) end
      end
      held = held .. (claim == token and '1' or '0')
    end
    return held
  end

  local function release(id, token)
    local claim, pool = fields(id, 'claim', 'pool')
    if claim ~= token then return end
    call('HDEL', taskKey(id), 'claim')
    if isAlone(id) then call('DEL', P .. ':alone') end
    wait(id, pool, now)
  end

  -- Pairs of task and token: these tasks run again at once, as if they had not run.
  function kinds.release(last)
    while at <= last do release(take(), take()) end
    return ''
  end

  -- Returns the task if it may run, and when it is due again unless it ends; nothing if there is no
  -- such task.
  local function claim(id, pool)
    local key = taskKey(id)
    local before, deaths, type, payload, attempt, unexpectedFailures, addedAt =
      fields(id, 'claim', 'deaths', 'type', 'payload', 'attempt', 'surprises', 'addedAt')
    if not type then
      call('ZREM', poolKey(pool), id)
      return nil, nil
    end
    -- The process that claimed it before has not ended it.
    deaths = tonumber(deaths) + (before and 1 or 0)
    if deaths >= 2 then
      -- One at a time, the least doubtful first, so that the one that ends processes is the only
      -- one given up.
      call('ZADD', P .. ':doubtful', deaths, id)
      local mayRun = call('ZRANGE', P .. ':doubtful', 0, 0)[1] == id
      if mayRun and not call('SET', P .. ':alone', id, 'NX', 'PX', whole(LEASE)) then mayRun = isAlone(id) end
      if not mayRun then
        call('HSET', key, 'deaths', deaths)
        call('HDEL', key, 'claim')
        call('ZADD', poolKey(pool), whole(now + 1000), id)
        return nil, now + 1000
      end
    end
    call('HSET', key, 'deaths', deaths, 'claim', asked.token)
    local ageMs = now - addedAt
    return { id, pool, type, payload, attempt, unexpectedFailures, whole(deaths), whole(ageMs) },
      now + LEASE
  end

  -- Claims what is due in the pool, as far as there is room. Returns when the first task is due
  -- then, and whether there is room left.
  local function claimIn(pool, room, tasks)
    local first, leases = false, {}
    local ids = call('ZRANGE', poolKey(pool), 0, room, 'WITHSCORES')
    for n = 1, #ids, 2 do
      local id, due = ids[n], dueOf(ids[n + 1])
      if due <= now and n < 2 * room then
        local task
        task, due = claim(id, pool)
        if task then
          tasks[#tasks + 1] = task
          leases[#leases + 1] = whole(due)
          leases[#leases + 1] = id
        end
      end
      if due then first = math.min(first or due, due) end
    end
    if #leases > 0 then call('ZADD', poolKey(pool), unpack(leases)) end
    return first, #leases < 2 * room
  end

  local isAnyLeft = true
  local function claimDue()
    -- As if those claims had not been made.
    for _, lost in ipairs(asked.lost) do
      local from, to = whole(now + LEASE - lost.ago), whole(now + LEASE)
      for pool in pairs(firstOf) do
        for _, id in ipairs(call('ZRANGEBYSCORE', poolKey(pool), from, to)) do release(id, lost.token) end
      end
    end
    local tasks, next, isLeft = {}, false, false
    for pool, first in pairs(firstOf) do
      local budget = asked.budgets[string.match(pool, '^[^ ]*')] or 1
      local room = asked.mayBegin and budget - (asked.held[pool] or 0) or 0
      local hasRoom = false
      if first <= now and room > 0 then
        first, hasRoom = claimIn(pool, room, tasks)
        firstOf[pool], changed[pool] = first, true
      end
      isLeft = isLeft or first and first <= now
      if first and (first > now or hasRoom) then next = math.min(next or first, first) end
    end
    isAnyLeft = isLeft
    return { tasks, next and whole(math.max(next - now, 0)) }
  end

  local unseen = asked and try(lookAtPools)
  local answers = {}
  while at <= #ARGV do
    local kind, count = take(), tonumber(take())
    local next = at + count
    answers[#answers + 1] = try(kinds[kind], next - 1)
    at = next
  end
  answers[#answers + 1] = unseen or asked and try(claimDue)

  local firsts, empty = asked and not unseen and {} or { 'LT' }, {}
  for pool in pairs(changed) do
    if firstOf[pool] then
      firsts[#firsts + 1] = whole(firstOf[pool])
      firsts[#firsts + 1] = pool
    else empty[#empty + 1] = pool end
  end
  if #firsts > 1 then call('ZADD', P .. ':pools', unpack(firsts)) end
  if #empty > 0 then call('ZREM', P .. ':pools', unpack(empty)) end
  if ARGV[6] ~= '' then markCall(ARGV[6], CALL) end
  -- A process that may not publish loses nothing but time.
  if isDueNow and isAnyLeft then redis.pcall('PUBLISH', P .. ':wake', asked and asked.process or '') end
  return answers
`;

/**
 * ARGV: now, how long abandoned tasks are kept, how many to remove at most, then as JSON the pools
 * of the tasks running here by their ids, and `true` for each pool to leave out of the last answer.
 * Removes expired abandoned tasks. Returns pairs of a pool and its number of unfinished tasks, the
 * number of those running here, and of abandoned ones, and the milliseconds until the first other
 * task is due (empty if there is none).
 */
export const LOOK = `${BEGIN}
  local dead, over = P .. ':dead', whole(now - tonumber(ARGV[2]))
  for _, id in ipairs(call('ZRANGEBYSCORE', dead, '-inf', over, 'LIMIT', 0, ARGV[3])) do
    call('ZREM', dead, id)
    call('DEL', taskKey(id))
  end
  local running, leftOut = cjson.decode(ARGV[4]), cjson.decode(ARGV[5])
  local byPool, runningHere, next, most = {}, 0, nil, 0
  for id, pool in pairs(running) do
    most = most + 1
    if call('ZSCORE', poolKey(pool), id) then runningHere = runningHere + 1 end
  end
  for _, pool in ipairs(call('ZRANGE', P .. ':pools', 0, -1)) do
    byPool[#byPool + 1] = { pool, call('ZCARD', poolKey(pool)) }
    local first = leftOut[pool] and {} or call('ZRANGE', poolKey(pool), 0, most, 'WITHSCORES')
    for n = 1, #first, 2 do
      if not running[first[n]] then
        next = math.min(next or math.huge, dueOf(first[n + 1]))
        break
      end
    end
  end
  return { byPool, runningHere, call('ZCARD', dead), next and whole(next - now) or '' }
`;
