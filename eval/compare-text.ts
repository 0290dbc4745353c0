import type { Comparison } from "./compare.ts";
import type { Report } from "./report-schema.ts";
import { neverTexts, percent, perPassedText, showsText } from "./score-text.ts";

const VERDICTS: Record<Comparison["verdict"], string> = {
  better: "The second one is better.",
  worse: "The first one is better.",
  chance: "Chance explains it as well.",
  nothing: "",
  "too-few": "With fewer than 5 runs of each task, too few to tell.",
};

/** A text in Markdown: what changed from one report to another, and how sure that is. */
export function comparisonText(a: Report, b: Report, comparison: Comparison): string {
  const { tasks, leftOut, before, after, difference, verdict, changed, shows } = comparison;
  const isNever = verdict === "worse" && difference.high >= 0;
  return [
    `# ${titleOf(a)} → ${titleOf(b)}`,
    "",
    ...(tasks === 0
      ? ["The two reports have no task in common."]
      : [
          `${tasks === 1 ? "One task" : `${tasks} tasks`} in both. Passed runs: ` +
            `${percent(before.share)} → ${percent(after.share)}.`,
          "",
          `Difference, task by task: ${points(difference.mean)} (95 % interval ` +
            `${points(difference.low)} to ${points(difference.high)}). ` +
            (isNever ? "More runs of the second one did what none may ever do." : VERDICTS[verdict]),
          "",
          showsText(shows),
          "",
          `For each passed run: ${perPassedText(before.perPassed)} → ${perPassedText(after.perPassed)}.`,
          ...neverTexts(before.never).flatMap((text) => ["", `Before: ${text}`]),
          ...neverTexts(after.never).flatMap((text) => ["", `After: ${text}`]),
        ]),
    ...(leftOut.length === 0
      ? []
      : ["", `Left out, because they aren't the same in both: ${leftOut.join(", ")}.`]),
    ...(changed.length === 0
      ? []
      : [
          "",
          "| task | before | after | alone |",
          "|---|---|---|---|",
          ...changed.map(
            (each) =>
              `| ${each.task} | ${each.before} | ${each.after} | ` +
              `${each.isMore ? "more than chance" : "may be chance"} |`,
          ),
        ]),
    "",
  ].join("\n");
}

function titleOf({ ranWith: { preset, model, brief } }: Report): string {
  return `${preset}${model === null ? "" : ` ${model}`}, brief ${brief}`;
}

function points(difference: number): string {
  const value = (100 * difference).toFixed(0);
  return `${difference > 0 && value !== "0" ? "+" : ""}${value === "-0" ? "0" : value} points`;
}
