/**
 * The scripts of the task queue on Redis. Each runs alone at Redis, so whatever one writes is there together. Times are Redis's own; what goes in
 * and out counts from now, so that no replica's clock matters. ARGV[1] is empty, or the time in a test. All keys begin with KEYS[1]:
 *
 * - `:task:<id>` a hash: the task as it stands. `claim` names the run that may end it.
 * - `:done:<id>` a done task whose id stays known.
 * - `:live` all tasks that are not over, by when they are due. `:dead` those given up, by when.
 * - `:outbox` tasks that BullMQ has yet to be told of, with the number of their next run.
 * - `:doubtful` tasks that were running in two process deaths, by how many. `:alone` the one of them that may run.
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

/** now, id, run, token, lease. Returns nothing if the run is out of date, `held` and what to tell, or the task. */
export const CLAIM = `${COMMON}
  local id, run, token = ARGV[2], ARGV[3], ARGV[4]
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
    if not isFirst or not (redis.call('SET', alone, id, 'NX', 'PX', ARGV[5]) or redis.call('GET', alone) == id) then
      redis.call('HSET', key, 'deaths', deaths)
      redis.call('HDEL', key, 'claim')
      plan(id, pool, now + 1000)
      return { 'held', told }
    end
  end
  redis.call('HSET', key, 'deaths', deaths, 'claim', token)
  return { 'claimed', redis.call('HMGET', key, 'type', 'payload', 'attempt', 'surprises', 'deaths', 'added') }
`;

/**
 * now, and a decision to carry out: JSON with `claim`, `checks`, `writes`, `adds` and `end`. Returns `lost`, or `stale` with the texts that are there
 * instead, or `ok` with what was added and what to tell BullMQ.
 */
export const COMMIT = `${COMMON}
  local c = cjson.decode(ARGV[2])
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
    local known, pool, nextPayload, nextDue, attempt, surprises =
      unpack(redis.call('HMGET', key, 'known', 'pool', 'nextPayload', 'nextDue', 'attempt', 'surprises'))
    redis.call('HDEL', key, 'claim', 'nextPayload', 'nextDue')
    if redis.call('GET', P .. ':alone') == id then redis.call('DEL', P .. ':alone') end
    redis.call('ZREM', P .. ':doubtful', id)
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
`;

/** now, then id and token of each run: they run again at once, as if they had not run. Returns what to tell. */
export const RELEASE = `${COMMON}
  for n = 2, #ARGV, 2 do
    local key = taskKey(ARGV[n])
    local claim, pool, due = unpack(redis.call('HMGET', key, 'claim', 'pool', 'due'))
    if claim == ARGV[n + 1] then
      redis.call('HDEL', key, 'claim')
      plan(ARGV[n], pool, tonumber(due))
    end
  end
  return told
`;

/** Pairs of id and run that BullMQ knows of now. */
export const TOLD = `
  for n = 1, #ARGV, 2 do
    if redis.call('HGET', KEYS[1] .. ':outbox', ARGV[n]) == ARGV[n + 1] then redis.call('HDEL', KEYS[1] .. ':outbox', ARGV[n]) end
  end
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
 * now, how late, how many. Tasks that are late although nobody works on them: Redis lost BullMQ's job in a crash, or the clocks by which BullMQ waits were
 * set back.
 */
export const FIND_LATE = `${COMMON}
  local late = redis.call('ZRANGEBYSCORE', P .. ':live', '-inf', whole(now - tonumber(ARGV[2])), 'LIMIT', 0, ARGV[3])
  for _, id in ipairs(late) do
    local pool, run, due = unpack(redis.call('HMGET', taskKey(id), 'pool', 'run', 'due'))
    local queue = pool and (P .. ':q:' .. redis.sha1hex(pool) .. ':')
    local job = pool and (redis.sha1hex(id) .. '-' .. run)
    if not pool then redis.call('ZREM', P .. ':live', id)
    elseif redis.call('EXISTS', queue .. job) == 0 or redis.call('ZSCORE', queue .. 'delayed', job) then plan(id, pool, due) end
  end
  return told
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
