import { NOW } from "../queue/redis/task-script.ts";

/**
 * ARGV: now, then ids. Returns, for each, the fields of the task; nil for those that are not there. A claim that nobody gave back is of a process
 * that died: it counts as a death.
 */
export const READ_TASKS = `${NOW}
  local tasks = {}
  for n = 2, #ARGV do
    local id = ARGV[n]
    local task = redis.call('HMGET', taskKey(id), 'state', 'type', 'pool', 'known', 'payload', 'due', 'attempt', 'surprises', 'deaths', 'added',
      'ended', 'reason', 'nextPayload', 'nextDue', 'claim')
    if task[1] == 'live' then task[6] = whole(dueOf(redis.call('ZSCORE', poolKey(task[3]), id))) end
    if task[1] == 'dead' then task[6] = task[6] or task[11] end
    if task[15] then task[9] = whole(task[9] + 1) end
    tasks[#tasks + 1] = task[1] and task
  end
  return tasks
`;

const REMOVE = `
  local function remove(id)
    local pool = redis.call('HGET', taskKey(id), 'pool')
    if pool then redis.call('ZREM', poolKey(pool), id) end
    redis.call('ZREM', P .. ':dead', id)
    redis.call('DEL', taskKey(id))
  end
`;

/** ARGV: now, then id and the fields of {@link READ_TASKS} without the claim, of each task; empty: it has none. Each is there as it is given, and nothing else of it. */
export const PUT_TASKS = `${NOW} ${REMOVE}
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
      redis.call('ZADD', poolKey(task.pool), task.due, id)
      redis.call('ZADD', P .. ':pools', 'LT', task.due, task.pool)
    end
  end
`;
