import type { Figure, Side, Unit } from "./scenario.ts";

/** A row of the table, with the name of its scenario. */
export type Row = Figure & { scenario: string };

const HEAD = ["scenario", "figure", "measured", "against", "ratio", "spread", "reach", "rounds"];

/**
 * Formats the figures as one table of medians. A ratio compares the two sides of the same round.
 * Its spread covers the middle half of the rounds, because on a shared machine the extremes come
 * from the neighbors.
 */
export function tableOf(rows: readonly Row[]): string {
  const lines = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? "").length)));
  const [head, ...body] = lines.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [head, rule, ...body].join("\n");
}

function cellsOf({ scenario, what, unit, measured, against, reach = "" }: Row): string[] {
  const ratios = ratiosOf(measured, against);
  return [
    scenario,
    unit === "" ? what : `${what}, ${unit}`,
    sideOf(measured, unit),
    against === undefined ? "" : sideOf(against, unit),
    ratios.length === 0 ? "" : ratioText(quantile(ratios, 0.5)),
    ratios.length < 2 ? "" : `${ratioText(quantile(ratios, 0.25))} to ${ratioText(quantile(ratios, 0.75))}`,
    reach,
    String(measured.values.length),
  ];
}

/** Returns no ratios where a side is zero, because they would say nothing. */
function ratiosOf(measured: Side, against: Side | undefined): number[] {
  return measured.values
    .map((value, round) => value / (against?.values[round] ?? NaN))
    .filter((ratio) => Number.isFinite(ratio) && ratio > 0);
}

function sideOf({ name, values }: Side, unit: Unit): string {
  return `${name}: ${valueText(quantile(values, 0.5), unit)}`;
}

function valueText(value: number, unit: Unit): string {
  if (value === Infinity) return "never";
  switch (unit) {
    case "per second":
    case "bytes":
    case "":
      return Math.round(value).toLocaleString("en-US");
    case "MB":
      return value.toFixed(0);
    case "s":
      return value < 10 ? value.toFixed(2) : value.toFixed(1);
    case "per turn":
    case "per job":
    case "%":
      return value.toFixed(1);
    case "ms":
      if (value < 1) return value.toFixed(3);
      return value < 10 ? value.toFixed(2) : value.toFixed(0);
  }
}

function ratioText(ratio: number): string {
  return ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(1);
}

/**
 * Returns the value that a share `q` (0 to 1) of the values doesn't exceed. With 0.5 it is the
 * median. Returns NaN if there are no values.
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  // Two equal values, even infinite ones, need no weights.
  return below === above ? below : below + (above - below) * (position - Math.floor(position));
}

/** Returns the largest value, or 0 if there are none. */
export function largest(values: Iterable<number>): number {
  let largestYet = 0;
  for (const value of values) largestYet = Math.max(largestYet, value);
  return largestYet;
}
