// Ends a run with "<n> passed, <n> failed", from vitest's JSON reports. Exits 1 if anything failed or a report has no test.
import { readFileSync } from "node:fs";

let passed = 0;
let failed = 0;
let skipped = 0;
let isSound = true;

for (const path of process.argv.slice(2)) {
  const report = readReport(path);
  // A file that fails outside its tests (an import, a hook) has no failed test to count.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed"),
  );
  for (const file of brokenFiles) console.log(`failed outside its tests: ${file.name}`);
  passed += report.numPassedTests;
  failed += report.numFailedTests + brokenFiles.length;
  skipped += report.numTotalTests - report.numPassedTests - report.numFailedTests;
  if (report.numPassedTests === 0) console.log(`no test passed in ${path}`);
  isSound &&= report.numPassedTests > 0 && report.success === true;
}

if (skipped > 0) console.log(`${skipped} skipped or to do`);
process.exitCode = failed > 0 || !isSound ? 1 : 0;
console.log(`${passed} passed, ${failed} failed`);

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (thrown) {
    console.log(`no report at ${path}: ${thrown.message}`);
    return { testResults: [], numPassedTests: 0, numFailedTests: 0, numTotalTests: 0, success: false };
  }
}
