/** A push that was on its way when its work was lost. */
const ON_ITS_WAY_MS = 500;

/** A line of the service's log. */
export type Line = { time: string; msg: string; job_id?: string };

/**
 * The pushes of attempts that the service had given up before. Each run of the agent writes its
 * number into its page, so a push shows which attempt it is of.
 */
export async function latePushes(of: {
  id: string;
  log: Line[];
  linesIn: (name: string) => string[];
  show: (...args: string[]) => Promise<string>;
}): Promise<string[]> {
  const { id, log, linesIn, show } = of;
  const starts = linesIn("starts").map(Number);
  const begun = log.filter(({ msg, job_id }) => /^turn (?:starts|is taken up)/.test(msg) && job_id === id);
  const lost = log.filter(({ msg, job_id }) => msg.startsWith("turn lost its runner") && job_id === id);
  const found: string[] = [];
  for (const push of linesIn("pushes")) {
    const [at = "", commit = "", ref = ""] = push.split(" ");
    if (!ref.includes(id)) continue;
    const page = await show("show", `${commit}:docs/index.md`);
    const run = Number(/what run (\d+) found/.exec(page)?.[1]);
    const startedAt = starts[run - 1] ?? 0;
    const begins =
      begun
        .map(({ time }) => Date.parse(time))
        .filter((ms) => ms <= startedAt)
        .at(-1) ?? 0;
    // The attempt in which this agent was started was given up when a runner was lost after that.
    const lostAt = lost.map(({ time }) => Date.parse(time)).find((ms) => ms > begins) ?? Infinity;
    if (Number(at) > lostAt + ON_ITS_WAY_MS)
      found.push(`run ${run}, ${Number(at) - lostAt} ms after it was lost`);
  }
  return found;
}
