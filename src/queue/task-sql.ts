/**
 * The statements of the SQLite task queue, as `TaskTable` runs them. None may scan the tasks: a test looks at their query plans.
 * Conditions such as `state = 'waiting'` repeat those of the partial indexes in `store/migrations.ts`, without which SQLite does not
 * use them.
 */
export const taskSql = {
  /** id, type, pool, known, payload, due_at, added_at */
  add: `INSERT INTO tasks (id, type, pool, known, payload, state, due_at, added_at)
    VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?) ON CONFLICT (id) DO NOTHING`,

  /** id */
  find: `SELECT seq, state FROM tasks WHERE id = ?`,

  /** due_at, seq; brings a task forward */
  bringForward: `UPDATE tasks SET due_at = min(due_at, ?) WHERE seq = ?`,

  /** payload, due_at, seq; for a task that runs now */
  runOnceMore: `UPDATE tasks SET next_payload = ?1, next_due_at = min(coalesce(next_due_at, ?2), ?2) WHERE seq = ?3`,

  /** pool, now, limit; what is due, that due longest first */
  due: `SELECT seq, due_at FROM tasks WHERE state = 'waiting' AND pool = ? AND due_at <= ?
    ORDER BY due_at, seq LIMIT ?`,

  /** seq */
  load: `SELECT seq, id, type, pool, known, payload, attempt, surprises, deaths, added_at FROM tasks WHERE seq = ?`,

  /** seq; a process that dies while it runs the task leaves this behind */
  countRun: `UPDATE tasks SET deaths = deaths + 1 WHERE seq = ?`,

  /** seq; a process that stops in an orderly way did not die of it */
  uncountRun: `UPDATE tasks SET deaths = max(deaths - 1, 0) WHERE seq = ?`,

  newest: `SELECT coalesce(max(seq), 0) AS seq FROM tasks`,

  /** seq */
  pending: `SELECT next_payload, next_due_at FROM tasks WHERE seq = ? AND state = 'waiting'`,

  /** seq */
  remove: `DELETE FROM tasks WHERE seq = ?`,

  /** ended_at, seq; the id stays known, what people wrote does not */
  done: `UPDATE tasks SET state = 'done', payload = NULL, ended_at = ? WHERE seq = ?`,

  /** ended_at, reason, seq; the dead keep their payload, for the operator */
  dead: `UPDATE tasks SET state = 'dead', ended_at = ?, reason = ?, next_payload = NULL, next_due_at = NULL WHERE seq = ?`,

  /** due_at, payload or NULL, attempt, surprises, reason, seq */
  waitOn: `UPDATE tasks SET due_at = ?, payload = coalesce(?, payload), attempt = ?, surprises = ?, deaths = 0, reason = ?,
      next_payload = NULL, next_due_at = NULL
    WHERE seq = ?`,

  /** pool */
  nextDue: `SELECT due_at FROM tasks WHERE state = 'waiting' AND pool = ? ORDER BY due_at, seq LIMIT 1 OFFSET ?`,

  waitingTypes: `SELECT DISTINCT type, pool FROM tasks WHERE state = 'waiting'`,

  /** pool, type, pool before */
  movePool: `UPDATE tasks SET pool = ? WHERE state = 'waiting' AND type = ? AND pool = ?`,

  /** by; the clock was set back */
  pullIn: `UPDATE tasks SET due_at = due_at - ?1, next_due_at = next_due_at - ?1 WHERE state = 'waiting'`,

  countWaiting: `SELECT count(*) AS count FROM tasks WHERE state = 'waiting'`,
  countDead: `SELECT count(*) AS count FROM tasks WHERE state = 'dead' AND state <> 'waiting'`,

  /** limit */
  listDead: `SELECT id, type, attempt, surprises, reason, added_at, ended_at FROM tasks
    WHERE state = 'dead' AND state <> 'waiting' ORDER BY ended_at DESC, seq DESC LIMIT ?`,

  /** state, ended before, limit */
  forget: `DELETE FROM tasks WHERE seq IN
    (SELECT seq FROM tasks WHERE state = ? AND state <> 'waiting' AND ended_at <= ? ORDER BY ended_at LIMIT ?)`,

  /** now */
  seen: `INSERT INTO seen (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
  lastSeen: `SELECT at FROM seen WHERE id = 1`,
} as const;
