/**
 * A job's status follows from its rows, so that no two of them can disagree: archived once it was archived, active while a
 * turn has not ended, otherwise what its last turn came to.
 */
const STATUS = `CASE
    WHEN archived_at IS NOT NULL THEN 'archived'
    WHEN EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended') THEN 'active'
    WHEN (SELECT outcome FROM turns WHERE job_id = jobs.id ORDER BY number DESC LIMIT 1) = 'failed' THEN 'failed'
    ELSE 'completed'
  END`;
const JOB = `SELECT id, project_id, repository, ref, model, pr_link, created_at, archived_at, ${STATUS} AS status FROM jobs`;
const TURN = `SELECT job_id, number, prompt, accepted_at, state, attempts, due_at, started_at, ended_at, outcome, summary, reason,
    left_out, progress FROM turns`;

/** The statements on jobs and turns. */
export const jobSql = {
  /** id, project, repository, ref, model, created_at, active_at */
  addJob: `INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  /** job, job, project, prompt, accepted_at; the number is the job's next */
  addTurn: `INSERT INTO turns (job_id, number, project_id, prompt, accepted_at, state)
    VALUES (?, (SELECT coalesce(max(number), 0) + 1 FROM turns WHERE job_id = ?), ?, ?, ?, 'waiting') RETURNING number`,
  /** active_at, id */
  touchJob: `UPDATE jobs SET active_at = ? WHERE id = ?`,
  /** id */
  job: `${JOB} WHERE id = ?`,
  /** project or NULL, status or NULL, limit; the newest first */
  jobs: `SELECT * FROM (${JOB} WHERE ?1 IS NULL OR project_id = ?1 ORDER BY created_at DESC, id)
    WHERE ?2 IS NULL OR status = ?2 LIMIT ?3`,
  /** job */
  turns: `${TURN} WHERE job_id = ? ORDER BY number`,
  /** job, number */
  turn: `${TURN} WHERE job_id = ? AND number = ?`,
  /** The one that has waited longest first. */
  unfinishedJobs: `SELECT job_id AS id FROM turns WHERE state <> 'ended' GROUP BY job_id ORDER BY min(accepted_at), job_id`,
  /** job */
  oldestUnfinished: `${TURN} WHERE job_id = ? AND state <> 'ended' ORDER BY number LIMIT 1`,

  /** project */
  countUnfinished: `SELECT count(*) AS count FROM turns WHERE project_id = ? AND state <> 'ended'`,
  /** project, after, limit - 1; when the one was accepted that has to grow old before there is room */
  blockingCreate: `SELECT accepted_at FROM turns WHERE project_id = ? AND accepted_at > ? AND number = 1
    ORDER BY accepted_at DESC LIMIT 1 OFFSET ?`,
  /** As blockingCreate. */
  blockingMessage: `SELECT accepted_at FROM turns WHERE project_id = ? AND accepted_at > ? AND number > 1
    ORDER BY accepted_at DESC LIMIT 1 OFFSET ?`,

  /** project, key */
  answered: `SELECT request, status, answer FROM idempotency WHERE project_id = ? AND key = ?`,
  /** project, key, request, status, answer, created_at */
  addAnswered: `INSERT INTO idempotency (project_id, key, request, status, answer, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
  /** before */
  forgetAnswered: `DELETE FROM idempotency WHERE created_at <= ?`,

  /** started_at, job, number */
  startTurn: `UPDATE turns SET state = 'running', attempts = attempts + 1, started_at = coalesce(started_at, ?)
    WHERE job_id = ? AND number = ? AND state <> 'ended'`,
  /** attempts to take back, reason, due_at, job, number */
  suspendTurn: `UPDATE turns SET state = 'waiting', attempts = attempts - ?, reason = coalesce(?, reason), due_at = ?
    WHERE job_id = ? AND number = ? AND state = 'running'`,
  /** progress, job, number */
  setProgress: `UPDATE turns SET progress = ? WHERE job_id = ? AND number = ?`,
  /** ended_at, outcome, summary, reason, left_out, job, number */
  endTurn: `UPDATE turns SET state = 'ended', ended_at = ?, outcome = ?, summary = ?, reason = ?, left_out = ?
    WHERE job_id = ? AND number = ? AND state <> 'ended'`,
  /** link, job */
  setPrLink: `UPDATE jobs SET pr_link = ? WHERE id = ?`,

  /** archived_at, job */
  archiveJob: `UPDATE jobs SET archived_at = ? WHERE id = ? AND archived_at IS NULL`,
  /** project, archived before, limit; a job is created before it is archived, and by that there is an index */
  forgettable: `SELECT id FROM jobs WHERE created_at <= ?2 AND archived_at <= ?2 AND project_id = ?1 ORDER BY created_at LIMIT ?3`,
  /** job */
  forgetTurns: `DELETE FROM turns WHERE job_id = ?`,
  /** job */
  forgetJob: `DELETE FROM jobs WHERE id = ?`,
  /** Of all jobs. */
  projectIds: `SELECT DISTINCT project_id AS id FROM turns`,

  /** ended_at, job */
  archiveTurns: `UPDATE turns SET state = 'ended', ended_at = ?, outcome = 'archived' WHERE job_id = ? AND state <> 'ended'`,
  /** project, inactive since, limit */
  inactive: `SELECT id FROM jobs WHERE archived_at IS NULL AND project_id = ? AND active_at <= ?
      AND NOT EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended')
    ORDER BY active_at LIMIT ?`,
} as const;
