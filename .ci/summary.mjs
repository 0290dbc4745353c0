// Ends a run with "<n> passed, <n> failed", from vitest's JSON report. Exits 1 if anything failed or nothing ran.
import { readFileSync } from "node:fs";

const report = readReport(process.argv[2]);
// A file that fails outside its tests (an import, a hook) has no failed test to count.
const brokenFiles = report.testResults.filter(
  (file) => file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed"),
);
const passed = report.numPassedTests;
const failed = report.numFailedTests + brokenFiles.length;
const skipped = report.numTotalTests - report.numPassedTests - report.numFailedTests;

for (const file of brokenFiles) console.log(`failed outside its tests: ${file.name}`);
if (skipped > 0) console.log(`${skipped} skipped or to do`);
if (passed + failed === 0) console.log("no test ran");
process.exitCode = failed > 0 || passed === 0 || report.success !== true ? 1 : 0;
console.log(`${passed} passed, ${failed} failed`);

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (thrown) {
    console.log(`no report at ${path}: ${thrown.message}`);
    return { testResults: [], numPassedTests: 0, numFailedTests: 0, numTotalTests: 0, success: false };
  }
}
