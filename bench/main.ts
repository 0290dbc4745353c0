import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BASELINE, checkOut, type Checkout, openCheckout, OWN_ROOT } from "./checkout.ts";
import { scenarios } from "./index.ts";
import { loadText, machineFacts } from "./machine.ts";
import { killPrograms } from "./program.ts";
import { BenchError, type Scenario } from "./scenario.ts";
import { type Row, tableOf } from "./table.ts";

const AT_MOST_MS = 40 * 60_000;

const HELP = `Measures docs-agent from outside, beside something named in the same run, and prints one table.

Usage: npm run bench -- [<scenario>…] [--checkout <folder> | --commit <commit>]

${scenarios.map(({ name, summary }) => `  ${name.padEnd(18)}${summary}`).join("\n")}

Without a scenario all of them run, which takes about twenty minutes.
  --checkout <folder>  measure the program in that folder instead of this one
  --commit <commit>    measure that commit of this repository, for example ${BASELINE}

Uses loopback only, and a temporary folder that it removes. bench/README.md explains the rows.
`;

type Options = { chosen: readonly Scenario[]; folder: string | undefined; commit: string | undefined };

async function main(): Promise<void> {
  const options = readOptions();
  if (options === null) {
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
    process.stderr.write(
      `Stopped after ${AT_MOST_MS / 60_000} minutes. The missing rows didn't end in time.\n`,
    );
    process.exit(1);
  }, AT_MOST_MS).unref();

  const checkout = checkoutOf(options, dir);
  const baseline = checkOut(BASELINE, dir);
  process.stdout.write(`program  ${checkout.name}\n${machineFacts(dir)}\n`);
  process.stdout.write(
    baseline === null
      ? `against  nothing: no commit ${BASELINE} here (a shallow clone?), so its ratios are left out\n\n`
      : `against  ${BASELINE}, where the table says so\n\n`,
  );
  for (const scenario of options.chosen) {
    const progress = (text: string) =>
      process.stderr.write(`${scenario.name}: ${text} (load ${loadText()})\n`);
    progress("measuring");
    const scenarioDir = join(dir, scenario.name);
    mkdirSync(scenarioDir);
    try {
      const figures = await scenario.run({ checkout, baseline, dir: scenarioDir, progress });
      const found = figures.map((figure) => ({ scenario: scenario.name, ...figure }));
      rows.push(...found);
      if (options.chosen.length > 1) process.stderr.write(`${tableOf(found)}\n`);
    } catch (thrown) {
      // The other scenarios may well work.
      process.stderr.write(`${scenario.name} failed: ${textOf(thrown)}\n`);
      process.exitCode = 1;
    }
    rmSync(scenarioDir, { recursive: true, force: true, maxRetries: 5 });
  }
  process.stdout.write(`${tableOf(rows)}\n`);
}

function checkoutOf({ folder, commit }: Options, dir: string): Checkout {
  if (commit !== undefined) {
    const measuredDir = join(dir, "measured");
    mkdirSync(measuredDir);
    const checkout = checkOut(commit, measuredDir);
    if (checkout === null) throw new BenchError(`This repository has no commit ${commit}.`);
    return checkout;
  }
  return folder === undefined ? openCheckout(OWN_ROOT, "now") : openCheckout(folder);
}

/** Returns null if the command line asks for help. */
function readOptions(): Options | null {
  const { values, positionals } = readArgs();
  if (values.help) return null;
  const names = scenarios.map(({ name }) => name);
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new BenchError(`There is no scenario ${unknown.join(", ")}. Choose from ${names.join(", ")}.`);
  }
  if (values.checkout !== undefined && values.commit !== undefined) {
    throw new BenchError("Choose one of --checkout and --commit.");
  }
  const chosen =
    positionals.length === 0 ? scenarios : scenarios.filter(({ name }) => positionals.includes(name));
  return { chosen, folder: values.checkout, commit: values.commit };
}

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h", default: false },
        checkout: { type: "string" },
        commit: { type: "string" },
      },
    });
  } catch (thrown) {
    throw new BenchError(`${textOf(thrown)}. See npm run bench -- --help.`);
  }
}

/** Our own errors say what to do, so they are shown without a stack trace. */
function textOf(thrown: unknown): string {
  if (thrown instanceof BenchError) return thrown.message;
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.stack ?? thrown.message;
}

try {
  await main();
} catch (thrown) {
  process.stderr.write(`${textOf(thrown)}\n`);
  process.exitCode = 1;
}
// If anything still keeps the process open, it has nothing left to do.
process.exit();
