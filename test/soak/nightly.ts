/**
 * `npm run test:nightly -- --times 20` first runs, once, the slow files and cases that no command
 * runs by day. Then it runs every test file that uses fast-check, again and again, with random
 * seeds and five times as many runs. If one failed, it says with which seed and exits with code 1.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { glob, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `Usage: npm run test:nightly -- [options]

  --times <n>   how many seeds (default 20)
`;

/** Runs of a property that doesn't set its own number. `npm test` has 100. */
const PROPERTY_RUNS = "500";

const root = fileURLToPath(new URL("../../", import.meta.url));
const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");

const { values } = parseArgs({
  options: { times: { type: "string", default: "20" }, help: { type: "boolean", default: false } },
});

if (values.help) process.stdout.write(HELP);
else await main(Number(values.times));

async function main(times: number): Promise<void> {
  if (!Number.isInteger(times) || times < 1) throw new TypeError("--times must be a whole number from 1.");
  let failures = 0;
  const fuller = await filesWith(/support\/nightly\.ts"/);
  // The first run takes the tag's tests of all projects, so the others leave them out.
  const others = "--tags-filter=!nightly";
  for (const args of [
    ["--tags-filter=nightly", "--exclude", "**/*kill-at-every*"],
    ["--project=redis-nightly", others],
    [...fuller, others],
  ]) {
    const { code, output } = await run(args, { TEST_NIGHTLY: "1" });
    print(`${args.join(" ")}: ${code === 0 ? "passed" : "FAILED"}`);
    if (code === 0) continue;
    failures += 1;
    print(output);
  }
  const files = await filesWith(/from "fast-check"/);
  print(`${files.length} files, ${times} seeds:\n${files.map((file) => `  ${file}`).join("\n")}`);
  const failed: number[] = [];
  for (let time = 1; time <= times; time += 1) {
    const seed = randomInt(2 ** 31);
    const startedAt = performance.now();
    const { code, output } = await run(files, { FC_SEED: String(seed), FC_RUNS: PROPERTY_RUNS });
    const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    print(`${time} of ${times}: FC_SEED=${seed} ${code === 0 ? "passed" : "FAILED"}, ${took}`);
    if (code === 0) continue;
    failed.push(seed);
    print(output);
  }
  for (const seed of failed)
    print(`to repeat: FC_SEED=${seed} FC_RUNS=${PROPERTY_RUNS} npx vitest run ${files.join(" ")}`);
  failures += failed.length;
  print(`${times + 3 - failures} passed, ${failures} failed`);
  process.exitCode = failures > 0 ? 1 : 0;
}

/** Finds the test files with an import that matches. */
async function filesWith(imported: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("test/**/*.test.ts", { cwd: root })) {
    if (imported.test(await readFile(join(root, file), "utf8"))) found.push(file);
  }
  return found.toSorted();
}

async function run(
  which: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  // A seed that draws large cases is slow, not wrong.
  const args = ["run", "--reporter=default", "--testTimeout=300000", ...which];
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: root,
    env: { ...process.env, ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  await once(child, "close");
  return { code: child.exitCode, output };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
