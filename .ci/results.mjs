// Reads vitest's JSON reports in test-results: all.json, kill.json, bare.json and, if something
// failed, again.json and again-bare.json.
//   node .ci/results.mjs failed again        writes the files with a failed test in all.json or
//                                            kill.json, one per line
//   node .ci/results.mjs failed again-bare   does the same for bare.json
//   node .ci/results.mjs                     writes the result, which ends with the line
//                                            "<n> passed, <n> failed"
// A test that failed and then passed alone counts as passed, and is named. Exits with 1 if a test
// failed twice, or if a report is missing, has no test, or failed outside of its tests.
import { existsSync, readFileSync } from "node:fs";

/** The runs, each with the report of the run that repeats its failed files in the same way. */
const AGAIN = { all: "again", kill: "again", bare: "again-bare" };

const runs = Object.entries(AGAIN).map(([name, again]) => ({ ...read(name), again }));
if (process.argv[2] === "failed") {
  const failed = runs.filter(({ again }) => again === process.argv[3]).flatMap(failedIn);
  for (const file of new Set(failed.map((test) => test.file))) console.log(file);
} else {
  printResult();
}

function printResult() {
  const failed = runs.flatMap((run) => failedIn(run).map((test) => ({ ...test, again: run.again })));
  const passedAgain = new Set(["again", "again-bare"].flatMap(passedOnlyIn));
  const lost = failed.filter((test) => !passedAgain.has(keyOf(test)));
  for (const test of failed) {
    console.log(
      `${lost.includes(test) ? "failed" : "failed, then passed alone"}: ${test.file} > ${test.name}`,
    );
  }
  const isSound = runs.every((run) => {
    const isExplained = run.success === true || failedIn(run).length > 0;
    if (!isExplained) console.log(`${run.path} failed, but none of its tests did`);
    return isExplained && run.numPassedTests > 0;
  });
  const sum = (count) => runs.reduce((total, run) => total + count(run), 0);
  const skipped = sum((run) => run.numTotalTests - run.numPassedTests - run.numFailedTests);
  if (skipped > 0) console.log(`${skipped} skipped or to do`);
  process.exitCode = lost.length > 0 || !isSound ? 1 : 0;
  console.log(
    `${sum((run) => run.numPassedTests) + failed.length - lost.length} passed, ${lost.length} failed`,
  );
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

function pathOf(run) {
  return `test-results/${run}.json`;
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
