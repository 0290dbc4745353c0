import { GATES, NOW } from "../../store/redis/redis-slots.ts";

/**
 * The task queue on Redis: how tasks are kept there, and the script that changes them.
 *
 * All keys begin with KEYS[1]:
 *
 * - `:task:<id>` is a hash: the task as it stands. `claim` is the token of the run that may end it.
 * - `:due:<pool>` are the pool's tasks that are not over. The score of a task that waits is when it
 *   is due. The score of one that runs is when its lease ends: from then on it is due again, for
 *   anybody.
 * - `:pools` are the pools that have tasks. A pool's score is when its first task is due, or
 *   earlier. It is made right when that time has come, so that nobody has to look into every pool.
 * - `:done:<id>` is a done task whose id stays known. `:dead` are the tasks given up, by when.
 * - `:doubtful` are tasks that were running in two process deaths, by how many. `:alone` is the one
 *   of them that may run.
 * - `:slot:<gate>` is a gate: see `redis-slots.ts`. `:<kind>:<id>` is a record, `:series:<name>` a
 *   series.
 * - `:wake` is a channel, not a key. Something is due that the process named in the message did not
 *   claim itself.
 *
 * What a process asks within one turn of the event loop, and while an earlier call is under way,
 * goes to Redis as one call of the script, and the same call claims what is due, as far as the
 * process has room for it. What the script does is there together, or not at all:
 *
 * - A commit carries a decision out only if each record that it read still has the hash that it had
 *   then, each limit has room, and the run on whose behalf it is made still has its claim.
 * - A claim writes a token into each task. Whoever claims the task later writes another token, and
 *   what the first run still has to say is refused. A lease that ended without a word counts as a
 *   death of the process.
 *
 * Times are Redis's own. What goes in and out counts from now, so no replica's clock matters.
 * Nothing depends on a wake-up: each process also asks when the next task is due, and every two
 * seconds. A script that Redis has forgotten is sent again (`RedisConnection.run`).
 */

/** What all scripts on tasks begin with. */
const BEGIN = `${NOW}
  local function taskKey(id) return P .. ':task:' .. id end
  local function poolKey(pool) return P .. ':due:' .. pool end
  local function whole(n) return string.format('%.0f', n) end
  local function dueOf(score) return math.floor(tonumber(score)) end
`;

/**
 * ARGV: now (empty, or the time in a test), the lease and how long done ids are kept, in
 * milliseconds, the number of the call, what to claim (empty: nothing), then what to do: its kind,
 * how many arguments follow, and these. Returns an answer to each, also when one of them meets a
 * fault, and at last one to the claim. Of tasks that are due at the same time, those of earlier
 * calls come first: the fraction of a score says so.
 *
 * What to claim is JSON: the `token` and the name of the `process`, the `budgets`, and how much of
 * each pool is `held`. The answer is a list of tasks, then in how many milliseconds the next task
 * is due, and whether others are due for which there is no room.
 */
export const WORK = `${BEGIN} ${GATES}
  local LEASE, KEEP_DONE, ORDER = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]) % 4096 / 4096
  local asked = ARGV[5] ~= '' and cjson.decode(ARGV[5])
  local at = 6
  local function take()
    at = at + 1
    return ARGV[at - 1]
  end
  local function some(text)
    if text ~= '' then return text end
  end

  -- When something in these pools is due that was put there just now.
  local soonest = {}
  local function wait(id, pool, due)
    redis.call('ZADD', poolKey(pool), string.format('%.6f', due + ORDER), id)
    soonest[pool] = math.min(soonest[pool] or due, due)
  end

  local function isAlone(id) return redis.call('GET', P .. ':alone') == id end

  local function finish(id, task, e)
    local key = taskKey(id)
    local known, pool, nextPayload, nextDue, attempt, surprises, deaths = unpack(task, 2)
    if asked and asked.held[pool] then asked.held[pool] = asked.held[pool] - 1 end
    if tonumber(deaths) >= 2 then
      if isAlone(id) then redis.call('DEL', P .. ':alone') end
      redis.call('ZREM', P .. ':doubtful', id)
    end
    local function waitOn(due, payload, attempts, surprised)
      redis.call('HDEL', key, 'claim', 'nextPayload', 'nextDue')
      local fields = { 'attempt', attempts, 'surprises', surprised, 'deaths', 0, 'reason', e.reason }
      if payload then
        fields[9] = 'payload'
        fields[10] = payload
      end
      redis.call('HSET', key, unpack(fields))
      wait(id, pool, due)
    end
    local isOver = e.kind == 'done' or e.kind == 'dead'
    if isOver and nextPayload then waitOn(tonumber(nextDue), nextPayload, 1, 0)
    elseif isOver then
      redis.call('ZREM', poolKey(pool), id)
      if e.kind == 'dead' then
        redis.call('HSET', key, 'state', 'dead', 'endedAt', whole(now), 'reason', e.reason)
        redis.call('ZADD', P .. ':dead', whole(now), id)
      else
        redis.call('DEL', key)
        if known == 'once' then redis.call('SET', P .. ':done:' .. id, whole(now), 'PX', whole(KEEP_DONE + 86400000)) end
      end
    else
      local due = now + e.due
      if nextDue then due = math.min(due, tonumber(nextDue)) end
      local payload = e.payload or nextPayload
      if e.kind == 'again' then waitOn(due, payload, 1, 0)
      elseif e.kind == 'wait' then waitOn(due, payload, attempt, surprises)
      elseif e.isSurprise then waitOn(due, payload, attempt, surprises + 1)
      else waitOn(due, payload, attempt + 1, surprises) end
    end
  end

  local function add(id, type, pool, known, payload, due)
    local key = taskKey(id)
    local state, claim, inPool, nextDue = unpack(redis.call('HMGET', key, 'state', 'claim', 'pool', 'nextDue'))
    local isNew = false
    if known == 'once' then
      local doneAt = not state and tonumber(redis.call('GET', P .. ':done:' .. id) or nil)
      isNew = not state and not (doneAt and doneAt + KEEP_DONE > now)
    elseif state ~= 'waiting' then isNew = true
    elseif known == 'latest' and claim then
      redis.call('HSET', key, 'nextPayload', payload, 'nextDue', whole(math.min(tonumber(nextDue or due), due)))
      return true
    elseif known == 'latest' and due < dueOf(redis.call('ZSCORE', poolKey(inPool), id)) then wait(id, inPool, due) end
    if not isNew then return false end
    if state == 'dead' then
      redis.call('DEL', key)
      redis.call('ZREM', P .. ':dead', id)
    end
    redis.call('HSET', key, 'state', 'waiting', 'type', type, 'pool', pool, 'known', known, 'payload', payload,
      'attempt', 1, 'surprises', 0, 'deaths', 0, 'addedAt', whole(now))
    wait(id, pool, due)
    return true
  end

  local kinds = {}

  -- Of which run, which records it read, the limits, what it writes, appends and adds, and how the run ends.
  function kinds.commit()
    local id, token = some(take()), take()
    local task
    if id then
      task = redis.call('HMGET', taskKey(id), 'claim', 'known', 'pool', 'nextPayload', 'nextDue', 'attempt', 'surprises', 'deaths')
      if task[1] ~= token then return { 'lost' } end
    end

    local stale = {}
    for _ = 1, tonumber(take()) do
      local key, hash = take(), take()
      local text = redis.call('GET', key)
      if (text and redis.sha1hex(text) or '') ~= hash then
        stale[#stale + 1] = key
        stale[#stale + 1] = text
      end
    end
    if #stale > 0 then return { 'stale', stale } end

    -- All gates have to have room before one counts.
    local gates = {}
    for n = 1, tonumber(take()) do
      local gate, limit, window = take(), take(), take()
      local next, blocked, used = readGate(gate)
      next = math.max(next, now) + window / limit
      -- A millisecond of slack, for what rounding leaves.
      if next > now + window + 1 then return { 'full', gate, exact(next - window - now) } end
      gates[n] = { gate, now, next, blocked, used }
    end
    for _, gate in ipairs(gates) do writeGate(unpack(gate)) end

    for _ = 1, tonumber(take()) do
      local key, keep, text = take(), take(), take()
      if keep == 'none' then redis.call('DEL', key)
      elseif keep == '' then redis.call('SET', key, text)
      else redis.call('SET', key, text, 'PX', keep) end
    end

    for _ = 1, tonumber(take()) do
      local key, entry, keep, ttl = take(), take(), tonumber(take()), take()
      if redis.call('RPUSH', key, entry) > keep then redis.call('LTRIM', key, -keep, -1) end
      redis.call('PEXPIRE', key, ttl)
    end

    -- Before the adds: one of them may bring this task back.
    local e = some(take())
    if e then finish(id, task, cjson.decode(e))
    elseif id then redis.call('ZADD', poolKey(task[3]), 'XX', whole(now + LEASE), id) end

    local added = ''
    for _ = 1, tonumber(take()) do
      local isAdded = add(take(), take(), take(), take(), take(), now + take())
      added = added .. (isAdded and '1' or '0')
    end
    return { 'ok', added }
  end

  local function pairsTo(last)
    return function()
      if at <= last then return take(), take() end
    end
  end

  -- Pairs of task and token: their leases begin anew. Returns whether each of these runs still has its task.
  function kinds.renew(last)
    local held = ''
    for id, token in pairsTo(last) do
      local claim, pool, deaths = unpack(redis.call('HMGET', taskKey(id), 'claim', 'pool', 'deaths'))
      if claim == token then
        redis.call('ZADD', poolKey(pool), 'XX', whole(now + LEASE), id)
        if tonumber(deaths) >= 2 and isAlone(id) then redis.call('PEXPIRE', P .. ':alone', whole(LEASE)) end
      end
      held = held .. (claim == token and '1' or '0')
    end
    return held
  end

  local function release(id, token)
    local claim, pool = unpack(redis.call('HMGET', taskKey(id), 'claim', 'pool'))
    if claim ~= token then return end
    redis.call('HDEL', taskKey(id), 'claim')
    if isAlone(id) then redis.call('DEL', P .. ':alone') end
    wait(id, pool, now)
  end

  -- Pairs of task and token: these tasks run again at once, as if they had not run.
  function kinds.release(last)
    for id, token in pairsTo(last) do release(id, token) end
    return ''
  end

  -- The token of a claim whose answer was lost, and how many milliseconds ago it was made at most: as if it had not been made.
  function kinds.unclaim()
    local token, ago = take(), tonumber(take())
    for _, pool in ipairs(redis.call('ZRANGE', P .. ':pools', 0, -1)) do
      local claimed = redis.call('ZRANGEBYSCORE', poolKey(pool), whole(now + LEASE - ago), whole(now + LEASE))
      for _, id in ipairs(claimed) do release(id, token) end
    end
    return ''
  end

  -- Returns the task if it may run, and when it is due again unless it ends; nothing if there is no such task.
  local function claim(id, pool)
    local key = taskKey(id)
    local before, deaths, type, payload, attempt, surprises, added =
      unpack(redis.call('HMGET', key, 'claim', 'deaths', 'type', 'payload', 'attempt', 'surprises', 'addedAt'))
    if not type then
      redis.call('ZREM', poolKey(pool), id)
      return nil, nil
    end
    -- The process that claimed it before has not ended it.
    deaths = tonumber(deaths) + (before and 1 or 0)
    if deaths >= 2 then
      -- One at a time, the least doubtful first, so that the one that ends processes is the only one given up.
      redis.call('ZADD', P .. ':doubtful', deaths, id)
      local isFirst = redis.call('ZRANGE', P .. ':doubtful', 0, 0)[1] == id
      if not isFirst or not (redis.call('SET', P .. ':alone', id, 'NX', 'PX', whole(LEASE)) or isAlone(id)) then
        redis.call('HSET', key, 'deaths', deaths)
        redis.call('HDEL', key, 'claim')
        redis.call('ZADD', poolKey(pool), whole(now + 1000), id)
        return nil, now + 1000
      end
    end
    redis.call('HSET', key, 'deaths', deaths, 'claim', asked.token)
    return { id, pool, type, payload, attempt, surprises, whole(deaths), added }, now + LEASE
  end

  -- Notes when something in these pools is due first. A pool whose value is false has no task.
  local function note(firstOf, ...)
    local firsts, empty = {}, {}
    for pool, first in pairs(firstOf) do
      if not first then empty[#empty + 1] = pool
      else
        firsts[#firsts + 1] = whole(first)
        firsts[#firsts + 1] = pool
      end
    end
    for _, option in ipairs({ ... }) do table.insert(firsts, 1, option) end
    if #firsts > 1 then redis.call('ZADD', P .. ':pools', unpack(firsts)) end
    if #empty > 0 then redis.call('ZREM', P .. ':pools', unpack(empty)) end
  end

  -- Claims what is due in the pool, as far as there is room. Returns when the first task is due then, and whether there is room left.
  local function claimIn(pool, room, tasks)
    local first, leases = false, {}
    local ids = redis.call('ZRANGE', poolKey(pool), 0, room, 'WITHSCORES')
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
    if #leases > 0 then redis.call('ZADD', poolKey(pool), unpack(leases)) end
    return first, #leases < 2 * room
  end

  local function claimDue()
    local tasks, next, hasMore, firstOf, changed = {}, false, '0', {}, {}
    local pools = redis.call('ZRANGE', P .. ':pools', 0, -1, 'WITHSCORES')
    for n = 1, #pools, 2 do firstOf[pools[n]] = dueOf(pools[n + 1]) end
    for pool, due in pairs(soonest) do
      if not firstOf[pool] or due < firstOf[pool] then
        firstOf[pool] = due
        changed[pool] = due
      end
    end
    for pool, first in pairs(firstOf) do
      local room = (asked.budgets[string.match(pool, '^[^ ]*')] or 1) - (asked.held[pool] or 0)
      local hasRoom = false
      if first <= now and room > 0 then
        first, hasRoom = claimIn(pool, room, tasks)
        changed[pool] = first
      end
      if first and first <= now then hasMore = '1' end
      if first and (first > now or hasRoom) then next = math.min(next or first, first) end
    end
    note(changed)
    return { tasks, next and whole(math.max(next - now, 0)), hasMore }
  end

  local function try(work, last)
    local isDone, answer = pcall(work, last)
    if isDone then return answer end
    return { 'failed', type(answer) == 'table' and answer.err or tostring(answer) }
  end

  local answers = {}
  while at <= #ARGV do
    local kind, count = take(), tonumber(take())
    local next = at + count
    answers[#answers + 1] = try(kinds[kind], next - 1)
    at = next
  end
  local claimed = asked and try(claimDue)
  if not claimed or claimed[1] == 'failed' then note(soonest, 'LT') end
  answers[#answers + 1] = claimed
  local isDueNow = false
  for _, due in pairs(soonest) do isDueNow = isDueNow or due <= now end
  -- A process that may not publish loses nothing but time.
  if isDueNow and not (claimed and claimed[3] == '0') then
    redis.pcall('PUBLISH', P .. ':wake', asked and asked.process or '')
  end
  return answers
`;

/** ARGV: now, how long the dead are kept, how many to forget at most. */
export const FORGET_DEAD = `${BEGIN}
  local forgotten = redis.call('ZRANGEBYSCORE', P .. ':dead', '-inf', whole(now - tonumber(ARGV[2])), 'LIMIT', 0, ARGV[3])
  for _, id in ipairs(forgotten) do
    redis.call('ZREM', P .. ':dead', id)
    redis.call('DEL', taskKey(id))
  end
  return #forgotten
`;

/**
 * ARGV: now, then as JSON the pools of the tasks that run here by their ids, and `true` for each
 * pool to leave out of the last answer. Returns how many tasks are not over, how many of those run
 * here, how many are dead, and in how many milliseconds the first other task is due; empty: none
 * is.
 */
export const LOOK = `${BEGIN}
  local running, leftOut = cjson.decode(ARGV[2]), cjson.decode(ARGV[3])
  local live, runningHere, next, most = 0, 0, nil, 0
  for id, pool in pairs(running) do
    most = most + 1
    if redis.call('ZSCORE', poolKey(pool), id) then runningHere = runningHere + 1 end
  end
  for _, pool in ipairs(redis.call('ZRANGE', P .. ':pools', 0, -1)) do
    live = live + redis.call('ZCARD', poolKey(pool))
    local first = leftOut[pool] and {} or redis.call('ZRANGE', poolKey(pool), 0, most, 'WITHSCORES')
    for n = 1, #first, 2 do
      if not running[first[n]] then
        next = math.min(next or math.huge, dueOf(first[n + 1]))
        break
      end
    end
  end
  return { live, runningHere, redis.call('ZCARD', P .. ':dead'), next and whole(next - now) or '' }
`;
