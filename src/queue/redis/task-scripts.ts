/**
 * The scripts of the task queue on Redis. Each runs alone at Redis, so whatever one writes is there together. Times are Redis's own; what goes in
 * and out counts from now, so that no replica's clock matters. ARGV[1] is empty, or the time in a test. All keys begin with KEYS[1]:
 *
 * - `:task:<id>` a hash: the task as it stands. `claim` names the run that may end it.
 * - `:done:<id>` a done task whose id stays known.
 * - `:live` all tasks that are not over, by when they are due. `:dead` those given up, by when.
 * - `:outbox` tasks that BullMQ has yet to be told of, with the number of their next run.
 * - `:doubtful` tasks that were running in two process deaths, by how many. `:alone` the one of them that may run.
 * - `:migration` while the store is one side of a migration: see `store/migration-mark.ts`.
 * - `:pools` every pool that a task was ever added to. `:run` the number of the last run.
 *
 * BullMQ's jobs say only that it is time for a run. One whose number is not the task's own is out of date.
 */
const COMMON = `
  local P = KEYS[1]
  local told = {}
  local now = tonumber(ARGV[1])
  if now == nil then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local function taskKey(id) return P .. ':task:' .. id end
  local function whole(n) return string.format('%.0f', n) end
  local function tell(id, pool, run, due)
    for _, word in ipairs({ id, pool, run, whole(due - now) }) do told[#told + 1] = word end
  end
  -- The task runs next at that time: BullMQ is to be told.
  local function plan(id, pool, due)
    local run = whole(redis.call('INCR', P .. ':run'))
    redis.call('HSET', taskKey(id), 'run', run, 'due', whole(due))
    redis.call('ZADD', P .. ':live', whole(due), id)
    redis.call('HSET', P .. ':outbox', id, run)
    tell(id, pool, run, due)
  end
`;

/**
 * now, then what is to be done, as JSON each, in this order. Returns an answer to each, also when one of them meets a fault:
 *
 * - `claim`, with `id`, `run`, `token` and `leaseMs`: nothing if the run is out of date, `held` and what to tell, or the task.
 * - `commit`, a decision to carry out with `claim`, `checks`, `within`, `writes`, `adds` and `end`: `lost`, or `stale` with the texts that are there
 *   instead, or `full` with the gate and the milliseconds until it has room, or `ok` with what was added and what to tell BullMQ.
 * - `told`, with `runs`, pairs of id and run that BullMQ knows of now: nothing.
 * - `release`, with `claims`: their tasks run again at once, as if they had not run. What to tell.
 */
export const WORK = `${COMMON}
  local kinds = {}

  function kinds.claim(c)
    local id, run = c.id, c.run
    local key = taskKey(id)
    local state, current, claim, deaths, pool = unpack(redis.call('HMGET', key, 'state', 'run', 'claim', 'deaths', 'pool'))
    if state ~= 'live' or current ~= run then return false end
    -- The process that claimed it before has not ended it.
    deaths = tonumber(deaths) + (claim and 1 or 0)
    if deaths >= 2 then
      -- One at a time, the least doubtful first, so that the one that ends processes is the only one given up.
      redis.call('ZADD', P .. ':doubtful', deaths, id)
      local isFirst = redis.call('ZRANGE', P .. ':doubtful', 0, 0)[1] == id
      local alone = P .. ':alone'
      if not isFirst or not (redis.call('SET', alone, id, 'NX', 'PX', whole(c.leaseMs)) or redis.call('GET', alone) == id) then
        redis.call('HSET', key, 'deaths', deaths)
        redis.call('HDEL', key, 'claim')
        plan(id, pool, now + 1000)
        return { 'held', told }
      end
    end
    redis.call('HSET', key, 'deaths', deaths, 'claim', c.token)
    return { 'claimed', redis.call('HMGET', key, 'type', 'payload', 'attempt', 'surprises', 'deaths', 'added') }
  end

  function kinds.commit(c)
    if c.claim and redis.call('HGET', taskKey(c.claim.id), 'claim') ~= c.claim.token then return { 'lost' } end

    local stale = {}
    for _, check in ipairs(c.checks) do
      local text = redis.call('GET', check[1])
      if text ~= check[2] then
        stale[#stale + 1] = check[1]
        stale[#stale + 1] = text
      end
    end
    if #stale > 0 then return { 'stale', stale } end

    -- A gate is a hash, as those of the slots are: see redis-slots.ts. All have to have room before one counts.
    local nextOf = {}
    local function text(n) return string.format('%.17g', n) end
    local function gateKey(within) return P .. ':slot:' .. within.gate end
    for n, within in ipairs(c.within) do
      local next = tonumber(redis.call('HGET', gateKey(within), 'next') or 0)
      nextOf[n] = math.max(next, now) + within.windowMs / within.limit
      -- A millisecond of slack, for what rounding leaves.
      if nextOf[n] > now + within.windowMs + 1 then return { 'full', within.gate, text(nextOf[n] - within.windowMs - now) } end
    end
    for n, within in ipairs(c.within) do
      redis.call('HSET', gateKey(within), 'next', text(nextOf[n]))
      redis.call('PEXPIRE', gateKey(within), math.ceil(nextOf[n] - now) + 60000)
    end

    for _, write in ipairs(c.writes) do
      if not write[2] then redis.call('DEL', write[1])
      elseif write[3] > 0 then redis.call('SET', write[1], write[2], 'PX', whole(write[3]))
      else redis.call('SET', write[1], write[2]) end
    end

    -- Before the adds: one of them may bring this task back.
    local e = c['end']
    if e then
      local id = c.claim.id
      local key = taskKey(id)
      local known, pool, nextPayload, nextDue, attempt, surprises, deaths =
        unpack(redis.call('HMGET', key, 'known', 'pool', 'nextPayload', 'nextDue', 'attempt', 'surprises', 'deaths'))
      redis.call('HDEL', key, 'claim', 'nextPayload', 'nextDue')
      if tonumber(deaths) >= 2 then
        if redis.call('GET', P .. ':alone') == id then redis.call('DEL', P .. ':alone') end
        redis.call('ZREM', P .. ':doubtful', id)
      end
      local function waitOn(due, payload, attempts, surprised)
        redis.call('HSET', key, 'attempt', attempts, 'surprises', surprised, 'deaths', 0, 'reason', e.reason or '')
        if payload then redis.call('HSET', key, 'payload', payload) end
        plan(id, pool, due)
      end
      local isOver = e.kind == 'done' or e.kind == 'dead'
      if isOver and nextPayload then waitOn(tonumber(nextDue), nextPayload, 1, 0)
      elseif isOver then
        redis.call('ZREM', P .. ':live', id)
        redis.call('HDEL', P .. ':outbox', id)
        if e.kind == 'dead' then
          redis.call('HSET', key, 'state', 'dead', 'ended', whole(now), 'reason', e.reason)
          redis.call('ZADD', P .. ':dead', whole(now), id)
        else
          redis.call('DEL', key)
          if known == 'once' then redis.call('SET', P .. ':done:' .. id, whole(now), 'PX', whole(c.keepDoneMs + 86400000)) end
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

    local added = ''
    for _, a in ipairs(c.adds) do
      local key = taskKey(a.id)
      a.due = now + a.due
      local state, claim, due, pool = unpack(redis.call('HMGET', key, 'state', 'claim', 'due', 'pool'))
      local isNew, isAdded = false, false
      if a.known == 'once' then
        local doneAt = tonumber(redis.call('GET', P .. ':done:' .. a.id) or nil)
        isNew = not state and not (doneAt and doneAt + c.keepDoneMs > now)
      elseif state ~= 'live' then isNew = true
      elseif a.known == 'latest' and claim then
        local nextDue = tonumber(redis.call('HGET', key, 'nextDue') or a.due)
        redis.call('HSET', key, 'nextPayload', a.payload, 'nextDue', whole(math.min(nextDue, a.due)))
        isAdded = true
      elseif a.known == 'latest' and a.due < tonumber(due) then plan(a.id, pool, a.due) end
      if isNew then
        redis.call('DEL', key, P .. ':done:' .. a.id)
        redis.call('ZREM', P .. ':dead', a.id)
        redis.call('HSET', key, 'state', 'live', 'type', a.type, 'pool', a.pool, 'known', a.known, 'payload', a.payload,
          'attempt', 1, 'surprises', 0, 'deaths', 0, 'added', whole(now))
        redis.call('SADD', P .. ':pools', a.pool)
        plan(a.id, a.pool, a.due)
      end
      added = added .. ((isNew or isAdded) and '1' or '0')
    end
    return { 'ok', added, told }
  end

  function kinds.told(c)
    for _, pair in ipairs(c.runs) do
      if redis.call('HGET', P .. ':outbox', pair[1]) == pair[2] then redis.call('HDEL', P .. ':outbox', pair[1]) end
    end
    return false
  end

  function kinds.release(c)
    for _, held in ipairs(c.claims) do
      local key = taskKey(held.id)
      local claim, pool, due = unpack(redis.call('HMGET', key, 'claim', 'pool', 'due'))
      if claim == held.token then
        redis.call('HDEL', key, 'claim')
        plan(held.id, pool, tonumber(due))
      end
    end
    return told
  end

  local answers = {}
  for n = 2, #ARGV do
    told = {}
    local isDone, answer = pcall(function()
      local c = cjson.decode(ARGV[n])
      return kinds[c.kind](c)
    end)
    if not isDone then answer = { 'failed', type(answer) == 'table' and answer.err or tostring(answer) } end
    answers[n - 1] = answer
  end
  return answers
`;

/** now, how long the dead are kept, how many. Forgets the dead, and returns what BullMQ has not been told. */
export const SWEEP = `${COMMON}
  local limit = tonumber(ARGV[3])
  local forgotten = redis.call('ZRANGEBYSCORE', P .. ':dead', '-inf', whole(now - tonumber(ARGV[2])), 'LIMIT', 0, limit)
  for _, id in ipairs(forgotten) do
    redis.call('ZREM', P .. ':dead', id)
    redis.call('DEL', taskKey(id))
  end
  local untold = redis.call('HSCAN', P .. ':outbox', 0, 'COUNT', limit)[2]
  for n = 1, #untold, 2 do
    local pool, run, due = unpack(redis.call('HMGET', taskKey(untold[n]), 'pool', 'run', 'due'))
    if run == untold[n + 1] then tell(untold[n], pool, run, due)
    else redis.call('HDEL', P .. ':outbox', untold[n]) end
  end
  return told
`;

/**
 * now, how late, how many to skip, how many to look at. Tasks that are late although nobody works on them: Redis lost BullMQ's job in a crash, or the
 * clocks by which BullMQ waits were set back. Returns how many it looked at, and what to tell.
 */
export const FIND_LATE = `${COMMON}
  local late = redis.call('ZRANGEBYSCORE', P .. ':live', '-inf', whole(now - tonumber(ARGV[2])), 'LIMIT', ARGV[3], ARGV[4])
  for _, id in ipairs(late) do
    local pool, run, due = unpack(redis.call('HMGET', taskKey(id), 'pool', 'run', 'due'))
    local queue = pool and (P .. ':q:' .. redis.sha1hex(pool) .. ':')
    local job = pool and (redis.sha1hex(id) .. '-' .. run)
    if not pool then redis.call('ZREM', P .. ':live', id)
    elseif redis.call('EXISTS', queue .. job) == 0 or redis.call('ZSCORE', queue .. 'delayed', job) then plan(id, pool, due) end
  end
  return { #late, told }
`;

/** now, then the tasks that run here. Returns how many there are that are not over, how many of those run here, and how many are dead. */
export const COUNT = `${COMMON}
  local running = 0
  for n = 2, #ARGV do
    if redis.call('ZSCORE', P .. ':live', ARGV[n]) then running = running + 1 end
  end
  return { redis.call('ZCARD', P .. ':live'), running, redis.call('ZCARD', P .. ':dead') }
`;

/** now. When the first of the tasks that do not run here is due. ARGV[2], …: those that run here. */
export const NEXT_DUE = `${COMMON}
  local isRunning = {}
  for n = 2, #ARGV do isRunning[ARGV[n]] = true end
  local first = redis.call('ZRANGE', P .. ':live', 0, #ARGV - 1, 'WITHSCORES')
  for n = 1, #first, 2 do
    if not isRunning[first[n]] then return whole(first[n + 1] - now) end
  end
  return false
`;

/**
 * now, then ids. Returns, for each, the fields of a migrated task; nil for those that are not there. A claim that nobody gave back is of a process that
 * died: it counts as a death.
 */
export const READ_TASKS = `${COMMON}
  local tasks = {}
  for n = 2, #ARGV do
    local id = ARGV[n]
    local task = redis.call('HMGET', taskKey(id), 'state', 'type', 'pool', 'known', 'payload', 'due', 'attempt', 'surprises', 'deaths', 'added',
      'ended', 'reason', 'nextPayload', 'nextDue', 'claim')
    if task[1] == 'live' then task[6] = redis.call('ZSCORE', P .. ':live', id) end
    if task[1] == 'dead' then task[11] = redis.call('ZSCORE', P .. ':dead', id) end
    if task[15] then task[9] = whole(task[9] + 1) end
    tasks[#tasks + 1] = task[1] and task
  end
  return tasks
`;

const REMOVE = `
  local function remove(id)
    redis.call('DEL', taskKey(id))
    redis.call('ZREM', P .. ':live', id)
    redis.call('ZREM', P .. ':dead', id)
    redis.call('HDEL', P .. ':outbox', id)
  end
`;

/** now, then id and the fields of {@link READ_TASKS} without the claim, of each task; empty: it has none. Each is there as it is given, and nothing else of it. */
export const PUT_TASKS = `${COMMON} ${REMOVE}
  local names = { 'state', 'type', 'pool', 'known', 'payload', 'due', 'attempt', 'surprises', 'deaths', 'added', 'ended', 'reason', 'nextPayload', 'nextDue' }
  for n = 2, #ARGV, #names + 1 do
    local id, task = ARGV[n], {}
    remove(id)
    for m, name in ipairs(names) do
      if ARGV[n + m] ~= '' or name == 'pool' then
        task[name] = ARGV[n + m]
        redis.call('HSET', taskKey(id), name, ARGV[n + m])
      end
    end
    if task.state == 'dead' then redis.call('ZADD', P .. ':dead', task.ended, id)
    else
      redis.call('SADD', P .. ':pools', task.pool)
      plan(id, task.pool, tonumber(task.due))
    end
  end
`;

/** now, then ids of tasks that are to be gone. */
export const REMOVE_TASKS = `${COMMON} ${REMOVE}
  for n = 2, #ARGV do remove(ARGV[n]) end
`;
