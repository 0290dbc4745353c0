import fc from "fast-check";

// Runs are the same every time, so that a failure points to the change. FC_SEED=… tests other
// values, and FC_RUNS=… more of them.
fc.configureGlobal({
  seed: Number(process.env["FC_SEED"] ?? 20_261_121),
  numRuns: Number(process.env["FC_RUNS"] ?? 100),
});
