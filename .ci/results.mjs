// Reads vitest's JSON reports in test-results. The last arguments name the runs: test is in the
// report test.json, a quarter of all, kill or bare in all-1.json, kill-1.json or bare-1.json. What
// failed in them ran once more by itself: see again.json and, for bare, again-bare.json.
//   node .ci/results.mjs failed again test all    writes the files with a failed test in one of
//                                                 these runs, one per line
//   node .ci/results.mjs result test all          writes the result, which ends with the line
//                                                 "<n> passed, <n> failed"
// A test that failed and then passed by itself is flaky. It is named and counts as passed, unless
// more than three tests are flaky: then each of them counts as failed. The exit code is 1 if a test
// counts as failed, or if a report is missing, has no test, or failed outside of its tests.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** The most flaky tests of a result that passes. */
const FLAKY_AT_MOST = 3;

/** Each suite, with the report of the run that repeats its failed files in the same way. */
const AGAIN = { test: "again", all: "again", kill: "again", bare: "again-bare" };

const [command, ...args] = process.argv.slice(2);
if (command === "failed") printFailedFiles(args[0], readRuns(args.slice(1)));
else if (command === "result") printResult(readRuns(args));
else throw new Error(`results.mjs knows failed and result, not ${command}`);

function printFailedFiles(again, runs) {
  const failed = runs.filter((run) => run.again === again).flatMap(failedIn);
  for (const file of new Set(failed.map((test) => test.file))) console.log(file);
}

function printResult(runs) {
  const failed = runs.flatMap((run) => failedIn(run).map((test) => ({ ...test, again: run.again })));
  const passedAgain = new Set(["again", "again-bare"].flatMap(passedOnlyIn));
  const flaky = failed.filter((test) => passedAgain.has(keyOf(test)));
  const failedTwice = failed.filter((test) => !flaky.includes(test));
  for (const test of failedTwice) console.log(`failed: ${titleOf(test)}`);
  for (const test of flaky) console.log(`flaky: ${titleOf(test)}`);
  const isTooFlaky = flaky.length > FLAKY_AT_MOST;
  if (isTooFlaky) {
    console.log(`${flaky.length} tests are flaky, at most ${FLAKY_AT_MOST} may be: all count as failed`);
  }
  const isSound = runs.every((run) => {
    const isExplained = run.success === true || failedIn(run).length > 0;
    if (!isExplained) console.log(`${run.path} failed, but none of its tests did`);
    return isExplained && run.numPassedTests > 0;
  });
  const sum = (count) => runs.reduce((total, run) => total + count(run), 0);
  const skipped = sum((run) => run.numTotalTests - run.numPassedTests - run.numFailedTests);
  if (skipped > 0) console.log(`${skipped} skipped or to do`);
  const passed = sum((run) => run.numPassedTests) + (isTooFlaky ? 0 : flaky.length);
  const lost = failedTwice.length + (isTooFlaky ? flaky.length : 0);
  process.exitCode = lost > 0 || !isSound ? 1 : 0;
  console.log(`${passed} passed, ${lost} failed`);
}

/** Returns the keys of tests that passed and didn't fail when they ran once more. */
function passedOnlyIn(again) {
  if (!existsSync(pathOf(again))) return [];
  const run = read(again);
  const failed = new Set(failedIn(run).map((test) => keyOf({ ...test, again })));
  const passed = run.testResults.flatMap(passedIn).map((test) => keyOf({ ...test, again }));
  return passed.filter((key) => !failed.has(key));
}

/**
 * Returns a run's failed tests. A file that fails outside its tests (an import, a hook) counts as
 * one test without a name.
 */
function failedIn(run) {
  return run.testResults.flatMap((file) => {
    const tests = file.assertionResults.filter((test) => test.status === "failed");
    if (tests.length > 0) return tests.map((test) => ({ file: file.name, name: test.fullName }));
    return file.status === "failed" ? [{ file: file.name, name: "" }] : [];
  });
}

function passedIn(file) {
  const tests = file.assertionResults.filter((test) => test.status === "passed");
  const named = tests.map((test) => ({ file: file.name, name: test.fullName }));
  return file.status === "passed" ? [...named, { file: file.name, name: "" }] : named;
}

function keyOf({ again, file, name }) {
  return `${again}\n${file}\n${name}`;
}

function titleOf({ file, name }) {
  return `${relative("", file)} > ${name}`;
}

function pathOf(run) {
  return `test-results/${run}.json`;
}

function readRuns(names) {
  return names.map((name) => {
    const suite = name.replace(/-[1-4]$/, "");
    if (!Object.hasOwn(AGAIN, suite)) throw new Error(`results.mjs knows no run ${name}`);
    return { ...read(name), again: AGAIN[suite] };
  });
}

function read(name) {
  const path = pathOf(name);
  try {
    return { path, ...JSON.parse(readFileSync(path, "utf8")) };
  } catch (thrown) {
    console.error(`no report at ${path}: ${thrown.message}`);
    return { path, testResults: [], numPassedTests: 0, numFailedTests: 0, numTotalTests: 0, success: false };
  }
}
