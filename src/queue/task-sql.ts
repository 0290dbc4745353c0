/**
 * The statements of the SQLite task queue, as `TaskTable` runs them. None may scan the tasks: a test looks at their query
 * plans. Conditions such as `ended_at IS NULL` repeat those of the partial indexes in `store/migrations.ts`, without
 * which SQLite does not use them.
 */
export const taskSql = {
  /** id, type, lane, payload, state, due_at, claimable_at, added_at */
  add: `INSERT INTO tasks (id, type, lane, payload, state, due_at, claimable_at, added_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,

  /** lane */
  firstOfLane: `SELECT seq, due_at FROM tasks WHERE lane = ? AND ended_at IS NULL ORDER BY seq LIMIT 1`,

  /** lane */
  laneFreeAt: `SELECT free_at FROM lanes WHERE lane = ?`,

  /** lane, free_at */
  holdLane: `INSERT INTO lanes (lane, free_at) VALUES (?, ?)
    ON CONFLICT (lane) DO UPDATE SET free_at = max(free_at, excluded.free_at)`,

  /** claimable_at, seq */
  promote: `UPDATE tasks SET state = 'waiting', claimable_at = ? WHERE seq = ?`,

  /** lease end, token, now, limit; takes what is due, and what a lapsed lease gives up */
  claim: `UPDATE tasks SET state = 'running', claimable_at = ?, token = ?, attempt = attempt + 1
    WHERE seq IN (SELECT seq FROM tasks WHERE claimable_at IS NOT NULL AND claimable_at <= ?
      ORDER BY claimable_at, seq LIMIT ?)
    RETURNING seq, id, type, lane, payload, token, attempt, added_at`,

  /** lease end, seq, token */
  renew: `UPDATE tasks SET claimable_at = ? WHERE seq = ? AND token = ?`,

  /** state, ended_at, reason, seq, token; only the dead keep their payload, for the operator */
  end: `UPDATE tasks SET state = ?1, ended_at = ?2, reason = ?3, claimable_at = NULL, token = NULL,
      payload = CASE ?1 WHEN 'dead' THEN payload END
    WHERE seq = ?4 AND token = ?5`,

  /** claimable_at, payload or NULL, seq, token */
  again: `UPDATE tasks SET state = 'waiting', claimable_at = ?, token = NULL, attempt = 0, reason = NULL,
      payload = coalesce(?, payload)
    WHERE seq = ? AND token = ?`,

  /** claimable_at, reason, seq, token */
  retry: `UPDATE tasks SET state = 'waiting', claimable_at = ?, reason = ?, token = NULL
    WHERE seq = ? AND token = ?`,

  /** now, seq, token; the claim does not count as an attempt */
  release: `UPDATE tasks SET state = 'waiting', claimable_at = ?, token = NULL, attempt = attempt - 1
    WHERE seq = ? AND token = ?`,

  /** now; gives up every lease, whoever held it */
  recover: `UPDATE tasks SET state = 'waiting', claimable_at = ?, token = NULL
    WHERE state = 'running' AND state <> 'done'`,

  nextDueAt: `SELECT claimable_at AS due_at FROM tasks WHERE claimable_at IS NOT NULL AND state = 'waiting'
    ORDER BY claimable_at LIMIT 1`,

  counts: `SELECT state, count(*) AS count FROM tasks
    WHERE state IN ('waiting', 'queued', 'running', 'dead') AND state <> 'done' GROUP BY state`,

  /** limit */
  dead: `SELECT id, type, lane, attempt, reason, added_at, ended_at FROM tasks
    WHERE state = 'dead' AND state <> 'done' ORDER BY seq DESC LIMIT ?`,

  /** ended before, limit */
  removeDone: `DELETE FROM tasks WHERE seq IN
    (SELECT seq FROM tasks WHERE state = 'done' AND ended_at <= ? ORDER BY ended_at LIMIT ?)`,

  /** now, limit */
  removeFreeLanes: `DELETE FROM lanes WHERE lane IN
    (SELECT lane FROM lanes WHERE free_at <= ? ORDER BY free_at LIMIT ?)`,
} as const;
