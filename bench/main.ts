import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Bench } from "./bench.ts";
import { benches } from "./index.ts";
import { killPrograms } from "./program.ts";
import { type Row, tableOf } from "./table.ts";

/** Below three minutes, with room for what is slow to end. */
const AT_MOST_MS = 170_000;
const TMPFS = 0x01021994;

const HELP = `Measures docs-agent beside something named, in the same run, and prints one table.

Usage: npm run bench -- [--only <name>]…

${benches.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}`).join("\n")}

Loopback only; writes to a temporary folder, which it removes; ends by itself within three minutes. What the rows mean:
bench/README.md.
`;

async function main(): Promise<void> {
  const chosen = chooseBenches();
  if (chosen === null) return;

  const dir = mkdtempSync(join(tmpdir(), "docs-agent-bench-"));
  process.on("exit", () => {
    killPrograms();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

  process.stdout.write(`${machineFacts(dir, chosen)}\n\n`);
  const rows: Row[] = [];
  setTimeout(() => {
    process.stdout.write(`${tableOf(rows)}\n`);
    process.stderr.write(
      `Stopped after ${AT_MOST_MS / 1000} s; this machine is too busy or too slow for the rest.\n`,
    );
    process.exit(1);
  }, AT_MOST_MS).unref();

  for (const bench of chosen) {
    process.stderr.write(`measuring ${bench.name} …\n`);
    const benchDir = join(dir, bench.name);
    mkdirSync(benchDir);
    const figures = await bench.run({ rounds: bench.rounds, dir: benchDir });
    rows.push(...figures.map((figure) => ({ bench: bench.name, ...figure })));
    rmSync(benchDir, { recursive: true, force: true });
  }
  process.stdout.write(`${tableOf(rows)}\n`);
}

/** The benches that the command line asks for; null when it asks for help, which is given then. Throws a `TypeError`. */
function chooseBenches(): readonly Bench[] | null {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string", multiple: true, default: [] },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return null;
  }
  const names = benches.map(({ name }) => name);
  const unknown = values.only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new TypeError(`There is no bench ${unknown.join(", ")}. Choose from ${names.join(", ")}.`);
  }
  return values.only.length === 0 ? benches : benches.filter(({ name }) => values.only.includes(name));
}

function machineFacts(dir: string, chosen: readonly Bench[]): string {
  const isInMemory = statfsSync(dir).type === TMPFS;
  return [
    `cores    ${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "unknown"}; load ${loadavg()[0]?.toFixed(1)} before the run`,
    `Node.js  ${process.version} on ${process.platform} ${process.arch}`,
    `disk     ${tmpdir()}${isInMemory ? ", in memory: syncing costs nothing here, and durability says nothing" : ""}`,
    `rounds   ${chosen.map(({ name, rounds }) => `${name} ${rounds}`).join(", ")}`,
  ].join("\n");
}

try {
  await main();
} catch (thrown) {
  const isUsage = thrown instanceof TypeError;
  process.stderr.write(
    `${thrown instanceof Error ? ((isUsage ? null : thrown.stack) ?? thrown.message) : String(thrown)}\n`,
  );
  process.exitCode = 1;
}
// Nothing that still holds the process open has anything left to do.
process.exit();
