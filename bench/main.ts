import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DocsAgentError, messageOf } from "../src/errors.ts";
import { StartError } from "../src/start-error.ts";
import type { Bench } from "./bench.ts";
import { benches } from "./index.ts";
import { machineFacts } from "./machine.ts";
import { killPrograms } from "./program.ts";
import { type Row, tableOf } from "./table.ts";

/** Above the sum of the budgets, below three minutes. */
const AT_MOST_MS = 175_000;

const HELP = `Measures docs-agent beside something named, in the same run, and prints one table.

Usage: npm run bench -- [--only <name>]…

${benches.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}`).join("\n")}

Loopback only; writes to a temporary folder, which it removes; ends by itself within three minutes. What the rows mean:
bench/README.md.
`;

async function main(): Promise<void> {
  const chosen = chooseBenches();
  if (chosen === null) {
    process.stdout.write(HELP);
    return;
  }
  const dir = mkdtempSync(join(tmpdir(), "docs-agent-bench-"));
  process.on("exit", () => {
    killPrograms();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  process.on("SIGINT", () => process.exit(130));
  process.on("SIGTERM", () => process.exit(143));
  const rows: Row[] = [];
  setTimeout(() => {
    process.stdout.write(`${tableOf(rows)}\n`);
    process.stderr.write(`Stopped after ${AT_MOST_MS / 1000} s: what is missing did not end in time.\n`);
    process.exit(1);
  }, AT_MOST_MS).unref();

  process.stdout.write(`${await machineFacts(dir, chosen)}\n\n`);
  for (const bench of chosen) {
    process.stderr.write(`measuring ${bench.name} …\n`);
    const benchDir = join(dir, bench.name);
    mkdirSync(benchDir);
    const { rounds, budgetMs } = bench;
    const figures = await bench.run({ rounds, endsAtMs: performance.now() + budgetMs, dir: benchDir });
    rows.push(...figures.map((figure) => ({ bench: bench.name, ...figure })));
    rmSync(benchDir, { recursive: true, force: true });
  }
  process.stdout.write(`${tableOf(rows)}\n`);
}

/** The benches that the command line asks for; null when it asks for help. */
function chooseBenches(): readonly Bench[] | null {
  const { help, only } = readArgs();
  if (help) return null;
  const names = benches.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new StartError(`There is no bench ${unknown.join(", ")}. Choose from ${names.join(", ")}.`);
  }
  return only.length === 0 ? benches : benches.filter(({ name }) => only.includes(name));
}

function readArgs(): { help: boolean; only: string[] } {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: "boolean", short: "h", default: false },
        only: { type: "string", multiple: true, default: [] },
      },
    });
    return values;
  } catch (thrown) {
    throw new StartError(`${messageOf(thrown)}. See npm run bench -- --help.`);
  }
}

try {
  await main();
} catch (thrown) {
  // Our own errors say what to do; a stack trace would bury it.
  const isKnown = thrown instanceof DocsAgentError || !(thrown instanceof Error);
  process.stderr.write(`${isKnown ? messageOf(thrown) : thrown.stack}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
