import { z } from "zod";
import { toTimestamp } from "../../shared/contract/reading.ts";
import { grouped } from "../../shared/text/text.ts";
import type { UsageBy, UsageSum } from "../jobs/usage-sums.ts";
import { lineText, shownTable } from "./show.ts";

/** How usage is printed. */
export const PrintedAs = z.enum(["table", "csv", "json"]);
export type PrintedAs = z.infer<typeof PrintedAs>;

type Wanted = { sinceMs: number; by: UsageBy; format: PrintedAs };

/** Usage as a table, comma-separated values, or JSON. */
export function usageText(sums: readonly UsageSum[], { sinceMs, by, format }: Wanted): string {
  switch (format) {
    case "json":
      return `${JSON.stringify({ since: toTimestamp(sinceMs), by, rows: sums }, null, 2)}\n`;
    case "csv":
      return csv(sums, by);
    case "table":
      return sums.length === 0 ? `There were no turns since ${toTimestamp(sinceMs)}.\n` : tableOf(sums, by);
    default:
      return format satisfies never;
  }
}

const HEADS = [
  "TURNS",
  "PULL REQUEST",
  "BRANCH",
  "ANSWERED",
  "NO CHANGES",
  "FAILED",
  "STOPPED",
  "UNFINISHED",
];

function tableOf(sums: readonly UsageSum[], by: UsageBy): string {
  const all = sums.reduce(plus);
  const rows = [...sums, ...(sums.length > 1 ? [all] : [])].map((sum, index) => {
    const { turns, outcomes, merged, mergedWithoutEdits, mergedUnknown, inputTokens, outputTokens } = sum;
    const { pullRequest, branch, answered, noChanges, failed, stopped, unfinished } = outcomes;
    const cost = `$${sum.costUsd.toFixed(2)}${sum.turnsWithoutCost > 0 ? "+" : ""}`;
    return [
      index === sums.length ? "all" : shownName(sum, by),
      ...[turns, pullRequest, branch, answered, noChanges, failed, stopped, unfinished, merged].map(grouped),
      `${mergedWithoutEdits}${mergedUnknown > 0 ? ` (${mergedUnknown} unknown)` : ""}`,
      cost,
      grouped(inputTokens),
      grouped(outputTokens),
    ];
  });
  const head = [...HEADS, "MERGED", "WITHOUT EDITS", "COST", "TOKENS IN", "TOKENS OUT"];
  const note = all.turnsWithoutCost > 0 ? "+: the cost of some turns isn't known.\n" : "";
  return `${shownTable([[by.toUpperCase(), ...head], ...rows])}${note}`;
}

function shownName({ id, name }: UsageSum, by: UsageBy): string {
  if (id === null) return by === "person" ? "(nobody, or unknown)" : "-";
  return lineText(name === null || name === id ? id : `${name} (${id})`);
}

function plus(one: UsageSum, other: UsageSum): UsageSum {
  const { outcomes: a } = one;
  const { outcomes: b } = other;
  return {
    id: null,
    name: null,
    turns: one.turns + other.turns,
    outcomes: {
      pullRequest: a.pullRequest + b.pullRequest,
      branch: a.branch + b.branch,
      answered: a.answered + b.answered,
      noChanges: a.noChanges + b.noChanges,
      failed: a.failed + b.failed,
      stopped: a.stopped + b.stopped,
      unfinished: a.unfinished + b.unfinished,
    },
    merged: one.merged + other.merged,
    mergedWithoutEdits: one.mergedWithoutEdits + other.mergedWithoutEdits,
    mergedUnknown: one.mergedUnknown + other.mergedUnknown,
    costUsd: one.costUsd + other.costUsd,
    turnsWithoutCost: one.turnsWithoutCost + other.turnsWithoutCost,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

const CSV_FIELDS = (
  "turns pullRequest branch answered noChanges failed stopped unfinished merged mergedWithoutEdits " +
  "mergedUnknown costUsd turnsWithoutCost inputTokens outputTokens"
).split(" ");

function csv(sums: readonly UsageSum[], by: UsageBy): string {
  const fields = [by, ...(by === "person" ? ["name"] : []), ...CSV_FIELDS];
  const lines = sums.map(({ outcomes, ...sum }) => {
    const values = new Map<string, unknown>(Object.entries({ [by]: sum.id, ...sum, ...outcomes }));
    return fields.map((field) => cell(values.get(field))).join(",");
  });
  return [fields.join(","), ...lines].map((line) => `${line}\r\n`).join("");
}

/** One that begins like a formula would run in a spreadsheet, so an apostrophe is put before it. */
function cell(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return "";
  const text = lineText(value).replace(/^[=+\-@]/, "'$&");
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
