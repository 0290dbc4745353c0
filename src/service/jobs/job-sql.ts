/** How many jobs a page of a list goes through at most, so that a rare status never makes it slow. */
const LIST_SCANNED = 500;

/**
 * A job's status follows from its rows, so that no two of them can disagree: archived once it was archived, active while a
 * turn has not ended, otherwise what its last turn came to.
 */
const STATUS = `CASE
    WHEN archived_at IS NOT NULL THEN 'archived'
    WHEN EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended') THEN 'active'
    WHEN (SELECT outcome FROM turns WHERE job_id = jobs.id ORDER BY number DESC LIMIT 1) IN ('failed', 'cancelled') THEN 'failed'
    ELSE 'completed'
  END`;
const JOB = `SELECT id, project_id, repository, ref, model, pr_link, created_at, archived_at, ${STATUS} AS status FROM jobs`;
const TURN = `SELECT job_id, number, prompt, words, accepted_at, state, attempts, due_at, started_at, ended_at, outcome, summary, reason, cause,
    left_out, progress, step, plan, usage, pull_request, branch, agent_runs, deaths FROM turns`;
const QUESTION = `SELECT id, job_id, turn, text, choices, allows_text, asked_at, answered_at, answer FROM questions`;

/** The statements on jobs and turns. */
export const jobSql = {
  /** id, project, repository, ref, model, created_at, active_at */
  addJob: `INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  /** job, project, prompt, accepted_at, words, requester; a job's first turn */
  addFirstTurn: `INSERT INTO turns (job_id, number, project_id, prompt, accepted_at, words, requester, state, nth)
    VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, 'waiting',
      (SELECT coalesce(max(nth), 0) + 1 FROM turns WHERE project_id = ?2 AND number = 1)) RETURNING number`,
  /** As addFirstTurn, for a message; the number is the job's next. */
  addNextTurn: `INSERT INTO turns (job_id, number, project_id, prompt, accepted_at, words, requester, state, nth)
    VALUES (?1, (SELECT max(number) + 1 FROM turns WHERE job_id = ?1), ?2, ?3, ?4, ?5, ?6, 'waiting',
      (SELECT coalesce(max(nth), 0) + 1 FROM turns WHERE project_id = ?2 AND number > 1)) RETURNING number`,
  /** active_at, id */
  touchJob: `UPDATE jobs SET active_at = ? WHERE id = ?`,
  /** id */
  job: `${JOB} WHERE id = ?`,
  /** project or NULL, status or NULL, limit; the newest first */
  jobs: `SELECT * FROM (${JOB} WHERE ?1 IS NULL OR project_id = ?1 ORDER BY created_at DESC, id)
    WHERE ?2 IS NULL OR status = ?2 LIMIT ?3`,
  /** project, created_at and id to go on after, status or NULL, limit; the newest first, of the next LIST_SCANNED */
  page: `SELECT * FROM (${JOB} WHERE project_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ${LIST_SCANNED})
    WHERE ?4 IS NULL OR status = ?4 LIMIT ?5`,
  /** project, created_at and id to go on after; the last one that a page goes through */
  lastScanned: `SELECT created_at, id FROM jobs WHERE project_id = ?1 AND (created_at, id) < (?2, ?3)
    ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ${LIST_SCANNED - 1}`,
  /** Changes when another connection writes. */
  /** job, up to, limit; the newest first */
  newestTurns: `${TURN} WHERE job_id = ? AND number <= ? ORDER BY number DESC LIMIT ?`,
  /** most characters, job, number, limit; what a later turn is told, the newest first */
  earlierTurns: `SELECT substr(prompt, 1, ?1) AS prompt, substr(words, 1, ?1) AS words, substr(summary, 1, ?1) AS summary FROM turns
    WHERE job_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4`,
  /** job */
  turns: `${TURN} WHERE job_id = ? ORDER BY number`,
  /** job, number */
  turn: `${TURN} WHERE job_id = ? AND number = ?`,
  /** The one that has waited longest first. */
  unfinishedJobs: `SELECT job_id AS id FROM turns WHERE state <> 'ended' GROUP BY job_id ORDER BY min(accepted_at), job_id`,
  /** job */
  oldestUnfinished: `${TURN} WHERE job_id = ? AND state <> 'ended' ORDER BY number LIMIT 1`,

  /** project */
  countUnfinished: `SELECT coalesce((SELECT turns FROM unfinished WHERE project_id = ?), 0) AS count`,
  /** project, after, limit - 1; when the one was accepted that has to grow old before there is room */
  blockingCreate: `SELECT accepted_at FROM turns WHERE project_id = ?1 AND accepted_at > ?2 AND number = 1
    AND nth = (SELECT max(nth) FROM turns WHERE project_id = ?1 AND number = 1) - ?3`,
  /** As blockingCreate. */
  blockingMessage: `SELECT accepted_at FROM turns WHERE project_id = ?1 AND accepted_at > ?2 AND number > 1
    AND nth = (SELECT max(nth) FROM turns WHERE project_id = ?1 AND number > 1) - ?3`,

  /** project, key */
  answered: `SELECT request, answer, turn FROM idempotency WHERE project_id = ? AND key = ?`,
  /** project, key, request, status, answer, turn, created_at */
  addAnswered: `INSERT INTO idempotency (project_id, key, request, status, answer, turn, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  /** before */
  forgetAnswered: `DELETE FROM idempotency WHERE created_at <= ?`,

  /** job, turn, position, id, name, media type, bytes */
  addAttachment: `INSERT INTO attachments (job_id, turn, position, id, name, media_type, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  /** job, turn */
  attachments: `SELECT id, name, media_type, bytes FROM attachments WHERE job_id = ? AND turn = ? ORDER BY position`,
  /** Of turns that have not ended. */
  neededAttachments: `SELECT id FROM turns CROSS JOIN attachments ON attachments.job_id = turns.job_id AND turn = number
    WHERE state <> 'ended'`,
  /** project; of turns that have not ended */
  attachedBytes: `SELECT coalesce(sum(bytes), 0) AS count
    FROM turns CROSS JOIN attachments ON attachments.job_id = turns.job_id AND turn = number
    WHERE project_id = ? AND state <> 'ended'`,
  /** job */
  forgetAttachments: `DELETE FROM attachments WHERE job_id = ?`,

  /**
   * started_at, job, number. A turn that was running still has not been stopped: the service ended in the middle of it, which counts if its
   * agent ran.
   */
  startTurn: `UPDATE turns SET attempts = attempts + 1 - (state = 'running' AND NOT agent_runs),
    deaths = deaths + (state = 'running' AND agent_runs), agent_runs = 0, state = 'running', started_at = coalesce(started_at, ?)
    WHERE job_id = ? AND number = ? AND state <> 'ended'`,
  /** attempts to take back, reason, due_at, job, number */
  suspendTurn: `UPDATE turns SET state = 'waiting', agent_runs = 0, attempts = attempts - ?, reason = coalesce(?, reason), due_at = ?
    WHERE job_id = ? AND number = ? AND state = 'running'`,
  /** job, number; what ran it has died, which counts if its agent ran */
  loseTurn: `UPDATE turns SET state = 'waiting', attempts = attempts - (NOT agent_runs), deaths = deaths + agent_runs,
    agent_runs = 0, due_at = 0 WHERE job_id = ? AND number = ? AND state = 'running'`,
  /** progress, step, plan, usage, job, number */
  setReport: `UPDATE turns SET progress = ?, step = ?, plan = ?, usage = ? WHERE job_id = ? AND number = ?`,
  /** whether it does, job, number */
  setAgentRuns: `UPDATE turns SET agent_runs = ? WHERE job_id = ? AND number = ?`,
  /** branch, job, number */
  setBranch: `UPDATE turns SET branch = ? WHERE job_id = ? AND number = ?`,
  /** ended_at, outcome, summary, reason, cause, left_out, job, number */
  endTurn: `UPDATE turns SET state = 'ended', ended_at = ?, outcome = ?, summary = ?, reason = ?, cause = ?, left_out = ?
    WHERE job_id = ? AND number = ? AND state <> 'ended'`,
  /** ended_at, job, number */
  cancelTurn: `UPDATE turns SET state = 'ended', ended_at = ?, outcome = 'cancelled', reason = NULL
    WHERE job_id = ? AND number = ? AND state <> 'ended'`,
  /** pull request, job, number */
  setPullRequest: `UPDATE turns SET pull_request = ? WHERE job_id = ? AND number = ?`,
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
  projectIds: `SELECT DISTINCT project_id AS id FROM jobs`,

  /** ended_at, job */
  archiveTurns: `UPDATE turns SET state = 'ended', ended_at = ?, outcome = 'archived', reason = NULL
    WHERE job_id = ? AND state <> 'ended'`,
  /** project, inactive since, limit */
  inactive: `SELECT id FROM jobs WHERE archived_at IS NULL AND project_id = ? AND active_at <= ?
      AND NOT EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id AND state <> 'ended')
    ORDER BY active_at LIMIT ?`,

  /** id, job, turn, text, choices, allows_text, asked_at; only of a turn that runs */
  addQuestion: `INSERT INTO questions (id, job_id, turn, text, choices, allows_text, asked_at)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM turns WHERE job_id = ?2 AND number = ?3 AND state = 'running')`,
  /** answered_at, answer, id */
  answerQuestion: `UPDATE questions SET answered_at = ?, answer = ? WHERE id = ? AND answered_at IS NULL`,
  /** id, job */
  question: `${QUESTION} WHERE id = ? AND job_id = ?`,
  /** job, limit; the newest first */
  newestQuestions: `${QUESTION} WHERE job_id = ? ORDER BY asked_at DESC, id DESC LIMIT ?`,
  /** id; if it is still open */
  closeQuestion: `DELETE FROM questions WHERE id = ? AND answered_at IS NULL`,
  /** job, turn */
  forgetQuestions: `DELETE FROM questions WHERE job_id = ? AND turn = ?`,
  /** job */
  forgetJobsQuestions: `DELETE FROM questions WHERE job_id = ?`,
} as const;
