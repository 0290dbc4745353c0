/**
 * The part of `WORK` (`task-script.ts`) that carries out a decision: a run's end, its writes and
 * its adds. It uses what precedes it there.
 */
export const COMMIT = `
  local function finish(id, task, e)
    local key = taskKey(id)
    local onDuplicate, pool, nextPayload, nextDue, attempt, unexpectedFailures, deaths = unpack(task, 2)
    if asked and asked.held[pool] then asked.held[pool] = asked.held[pool] - 1 end
    if tonumber(deaths) >= 2 then
      if isAlone(id) then call('DEL', P .. ':alone') end
      call('ZREM', P .. ':doubtful', id)
    end
    if e.due or nextPayload then
      local due = math.min(e.due and now + e.due or math.huge, tonumber(nextDue or math.huge))
      local payload = e.payload or nextPayload
      if e.isUnexpected then unexpectedFailures = unexpectedFailures + 1
      elseif e.kind == 'retry' then attempt = attempt + 1
      elseif e.kind ~= 'wait' then attempt, unexpectedFailures = 1, 0 end
      call('HDEL', key, 'claim', 'nextPayload', 'nextDue')
      call('HSET', key, 'attempt', attempt, 'surprises', unexpectedFailures, 'deaths', 0, 'reason', e.reason,
        unpack(payload and { 'payload', payload } or {}))
      return wait(id, pool, due)
    end
    call('ZREM', poolKey(pool), id)
    if e.kind == 'dead' then
      call('HSET', key, 'state', 'dead', 'endedAt', whole(now), 'reason', e.reason)
      call('ZADD', P .. ':dead', whole(now), id)
    else
      call('DEL', key)
      local keepMs = whole(KEEP_DONE + 86400000)
      if onDuplicate == 'once' then call('SET', P .. ':done:' .. id, whole(now), 'PX', keepMs) end
    end
  end

  local function add(id, type, pool, onDuplicate, payload, due)
    local key = taskKey(id)
    local state, claim, inPool, nextDue = fields(id, 'state', 'claim', 'pool', 'nextDue')
    if state == 'waiting' then
      if onDuplicate ~= 'latest' then return false end
      if claim then
        due = math.min(tonumber(nextDue or due), due)
        call('HSET', key, 'nextPayload', payload, 'nextDue', whole(due))
        return true
      end
      if due < dueOf(call('ZSCORE', poolKey(inPool), id)) then wait(id, inPool, due) end
      return false
    end
    if onDuplicate == 'once' then
      local doneAt = not state and tonumber(call('GET', P .. ':done:' .. id) or nil)
      if state or doneAt and doneAt + KEEP_DONE > now then return false end
    end
    if state == 'dead' then
      call('DEL', key)
      call('ZREM', P .. ':dead', id)
    end
    call('HSET', key, 'state', 'waiting', 'type', type, 'pool', pool, 'known', onDuplicate,
      'payload', payload, 'attempt', 1, 'surprises', 0, 'deaths', 0, 'addedAt', whole(now))
    wait(id, pool, due)
    return true
  end

  local function remove(id)
    local pool = fields(id, 'pool')
    if pool then call('ZREM', poolKey(pool), id) end
    call('DEL', taskKey(id), P .. ':done:' .. id)
    call('ZREM', P .. ':dead', id)
    call('ZREM', P .. ':doubtful', id)
    if isAlone(id) then call('DEL', P .. ':alone') end
  end

  -- Of which run, which records it read, the limits, what it writes and appends, how the run ends,
  -- and what it removes and adds.
  function kinds.commit()
    local id, token = some(take()), take()
    local task = id and { fields(id, 'claim', 'known', 'pool', 'nextPayload', 'nextDue', 'attempt',
      'surprises', 'deaths') }
    if id and task[1] ~= token then return { 'lost' } end

    local stale = {}
    for _ = 1, tonumber(take()) do
      local key, hash = take(), take()
      local text = call('GET', key)
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
      if keep == 'none' then call('DEL', key)
      elseif keep == '' then call('SET', key, text)
      else call('SET', key, text, 'PX', keep) end
    end

    for _ = 1, tonumber(take()) do
      local key, entry, keep, ttl = take(), take(), tonumber(take()), take()
      if call('RPUSH', key, entry) > keep then call('LTRIM', key, -keep, -1) end
      call('PEXPIRE', key, ttl)
    end

    -- Before the rest: one of the adds may bring this task back.
    local e = some(take())
    if e then finish(id, task, cjson.decode(e))
    elseif id then call('ZADD', poolKey(task[3]), 'XX', whole(now + LEASE), id) end

    for _ = 1, tonumber(take()) do remove(take()) end

    local added = ''
    for _ = 1, tonumber(take()) do
      local isAdded = add(take(), take(), take(), take(), take(), now + take())
      added = added .. (isAdded and '1' or '0')
    end
    return { 'ok', added }
  end
`;
