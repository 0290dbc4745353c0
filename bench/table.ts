import type { Figure, Side, Unit } from "./bench.ts";

export type Row = Figure & { bench: string };

const HEAD = ["bench", "figure", "measured", "against", "ratio", "spread", "rounds"];

/**
 * The figures as one table: medians of the rounds. The ratio is that of the two sides in the same round; its spread is that
 * of the middle half of the rounds, as on a shared machine the extremes are the neighbours'.
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

function cellsOf({ bench, what, unit, measured, against }: Row): string[] {
  const ratios = measured.values.map((value, round) => value / (against.values[round] ?? NaN));
  return [
    bench,
    `${what}, ${unit}`,
    sideOf(measured, unit),
    sideOf(against, unit),
    ratioText(quantile(ratios, 0.5)),
    `${ratioText(quantile(ratios, 0.25))} to ${ratioText(quantile(ratios, 0.75))}`,
    String(ratios.length),
  ];
}

function sideOf({ name, values }: Side, unit: Unit): string {
  return `${name}: ${valueText(quantile(values, 0.5), unit)}`;
}

function valueText(value: number, unit: Unit): string {
  switch (unit) {
    case "per second":
    case "MB":
      return Math.round(value).toLocaleString("en-US");
    case "ms":
      return value < 10 ? value.toFixed(2) : value.toFixed(0);
  }
}

function ratioText(ratio: number): string {
  return ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(1);
}

/** The value that a share `q` (0 to 1) of the values does not exceed; with 0.5, the median. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  return below + (above - below) * (position - Math.floor(position));
}
