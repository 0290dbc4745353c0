import { EXPECTED } from "./judge.ts";
import { percent, scoreText } from "./score-text.ts";
import { type Score, scoreOf } from "./score.ts";
import { isPassed, type Report, type TaskRun, tokensOf } from "./report-schema.ts";

const MAX_WORDS = 300;
/** The number of failed checks that a row of the overview names. All are listed below it. */
const MAX_NAMED = 4;

/** The report for people, in Markdown. It lists missing and failed runs like all others. */
export function reportText(report: Report): string {
  const { ranWith, runs, startedAt, endedAt } = report;
  const score = scoreOf(report);
  const names = Object.keys(report.tests);
  const byTask = names.map((name) => ({ name, runs: runs.filter(({ task }) => task === name) }));
  const missing = runs.filter(({ outcome }) => outcome === "not-run").length;
  const failed = runs.filter(({ outcome }) => outcome === "failed").length;
  const passed = runs.filter(isPassed).length;
  const agent = `${ranWith.preset}${ranWith.model === null ? "" : `, model ${inline(ranWith.model)}`}`;
  return [
    `# Evaluation of ${agent}`,
    "",
    `**${passed} of ${runs.length} runs passed every check.** ${spread(report)}`,
    ...(failed > 0 ? ["", `${failed} ended without a result: the agent failed.`] : []),
    ...(missing > 0 ? ["", `${missing} of ${runs.length} runs are missing. They count as not passed.`] : []),
    "",
    "| ran with | |",
    "|---|---|",
    `| agent | ${agent} |`,
    `| brief, by its hash | ${ranWith.brief} |`,
    ...projectRows(report),
    `| tasks, runs of each | ${names.length}, ${ranWith.runs} |`,
    ...(ranWith.repository === null ? [] : [`| repository | ${inline(ranWith.repository)} |`]),
    `| budget | ${budgetText(report)} |`,
    `| time limit of a run | ${ranWith.timeLimitMinutes} minutes |`,
    "| containment | the job service's sandbox; the agent may run commands there |",
    `| started, ended | ${startedAt}, ${endedAt ?? "not yet"} |`,
    `| used | ${usedText(runs)} |`,
    "",
    ...scoreText(score),
    "## Tasks",
    "",
    "| task | passed | may be | checks failed | tokens | cost | time | changes |",
    "|---|---|---|---|---|---|---|---|",
    ...byTask.map(({ name, runs: own }) => rowOf(name, own, score)),
    "",
    "Tokens, cost and time are the mean of a task's runs. *May be*: between these, the share of many " +
      "runs lies in at least 95 of 100 cases.",
    "",
    "## Checks",
    ...byTask.flatMap(({ name, runs: own }) => sectionOf(name, report.tests[name] ?? "", own)),
    "",
  ].join("\n");
}

/** Says how much the share of passed tasks differs from run to run. */
function spread({ runs, ranWith }: Report): string {
  if (ranWith.runs === 1) return "One run of each task doesn't tell how much of that is chance.";
  const shares = Array.from({ length: ranWith.runs }, (_, index) => {
    const own = runs.filter(({ run }) => run === index + 1);
    return (100 * own.filter(isPassed).length) / own.length;
  });
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const lowest = Math.min(...shares).toFixed(0);
  return `Mean over the runs: ${mean.toFixed(0)} %, from ${lowest} to ${Math.max(...shares).toFixed(0)} %.`;
}

/** What the project's settings said besides, if anything. */
function projectRows({ ranWith: { project } }: Report): string[] {
  const { instructions, styleGuide, verify, asks } = project;
  return [
    ...(instructions === null ? [] : [`| instructions, by their hash | ${instructions} |`]),
    ...(styleGuide.length === 0 ? [] : [`| style guide | ${styleGuide.map(inline).join(", ")} |`]),
    ...(verify === null ? [] : [`| checks, by their hash | ${verify} |`]),
    ...(asks ? ["| questions | the agent may ask |"] : []),
  ];
}

function rowOf(name: string, runs: readonly TaskRun[], { byTask }: Score): string {
  const failed = new Set(
    runs.flatMap(({ verdicts }) =>
      verdicts.flatMap(({ check, problem }) => (problem === null ? [] : [check])),
    ),
  );
  const without = runs.filter(({ outcome }) => outcome === "failed" || outcome === "not-run").length;
  const shown = [...failed].slice(0, MAX_NAMED);
  const more = failed.size > MAX_NAMED ? [`and ${failed.size - MAX_NAMED} more`] : [];
  const noted = [...shown, ...more, ...(without > 0 ? [`${without} without a result`] : [])];
  const diffs = runs.flatMap(({ run, diff }) => (diff === null ? [] : [`[${run}](${diff})`]));
  const tokens = meanOf(runs, (run) => (run.inputTokens === null ? null : tokensOf(run)));
  const [usd, seconds] = [meanOf(runs, (run) => run.usd), meanOf(runs, (run) => run.seconds)];
  const cells = [
    `[${name}](#${name})`,
    `${runs.filter(isPassed).length} of ${runs.length}`,
    mayBe(byTask[name]),
    noted.join(", "),
    tokens === null ? "" : Math.round(tokens).toLocaleString("en"),
    usd === null ? "" : `$${usd.toFixed(3)}`,
    seconds === null ? "" : `${Math.round(seconds)} s`,
    diffs.join(" "),
  ];
  return `| ${cells.join(" | ")} |`;
}

function mayBe(interval: Score["byTask"][string] | undefined): string {
  return interval === undefined ? "" : `${percent(interval.low)} to ${percent(interval.high)}`;
}

function sectionOf(name: string, tests: string, runs: readonly TaskRun[]): string[] {
  const checks = [...new Set(runs.flatMap(({ verdicts }) => verdicts.map(({ check }) => check)))];
  const markOf = ({ verdicts }: TaskRun, check: string) => {
    const verdict = verdicts.find((candidate) => candidate.check === check);
    return verdict === undefined ? "–" : verdict.problem === null ? "✓" : "✗";
  };
  const details = runs.flatMap((run) => detailsOf(run));
  return [
    "",
    `### ${name}`,
    "",
    inline(tests),
    ...(checks.length === 0
      ? []
      : [
          "",
          `| check | ${runs.map(({ run }) => `run ${run}`).join(" | ")} |`,
          `|---|${runs.map(() => "---|").join("")}`,
          ...checks.map((check) => {
            const what = check === EXPECTED ? "what should change changed" : check;
            return `| ${what} | ${runs.map((run) => markOf(run, check)).join(" | ")} |`;
          }),
        ]),
    ...(details.length === 0 ? [] : ["", ...details]),
  ];
}

function detailsOf({ run, outcome, reason, verdicts, words }: TaskRun): string[] {
  if (outcome === "failed" || outcome === "not-run") {
    return [`- run ${run}, no result: ${inline(reason ?? outcome)}`];
  }
  const problems = verdicts.flatMap(({ check, problem }) =>
    problem === null ? [] : [`- run ${run}, ${check}: ${inline(problem)}`],
  );
  return problems.length === 0 || words === ""
    ? problems
    : [...problems, `- run ${run} said: ${inline(words)}`];
}

function budgetText({ ranWith: { maxUsd, maxTokens, eachAtMost } }: Report): string {
  const amount = (value: number) =>
    maxUsd === null ? `${Math.round(value).toLocaleString("en")} tokens` : `$${value.toFixed(2)}`;
  return `${amount(maxUsd ?? maxTokens ?? 0)}, at most ${amount(eachAtMost)} for one run`;
}

function usedText(runs: readonly TaskRun[]): string {
  const sum = (of: (run: TaskRun) => number | null) => runs.reduce((total, run) => total + (of(run) ?? 0), 0);
  const tokens = `${sum(tokensOf).toLocaleString("en")} tokens`;
  const priced = runs.filter(({ usd }) => usd !== null).length;
  const minutes = (sum(({ seconds }) => seconds) / 60).toFixed(1);
  const cost = priced === 0 ? "cost unknown" : `$${sum(({ usd }) => usd).toFixed(2)}`;
  return `${tokens}, ${cost}, ${minutes} minutes of agents at work`;
}

function meanOf(runs: readonly TaskRun[], of: (run: TaskRun) => number | null): number | null {
  const known = runs.map(of).filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Somebody else's text on one line, escaped so that it is neither Markdown nor HTML. */
function inline(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const short = line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
  return short.replace(/[\\`*_[\]<>|&#@~!]/g, "\\$&");
}
