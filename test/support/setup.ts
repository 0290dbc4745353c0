import fc from "fast-check";

// The same runs every time, so that a red suite says something about the change; FC_SEED=… looks elsewhere, and FC_RUNS=… longer.
fc.configureGlobal({
  seed: Number(process.env["FC_SEED"] ?? 20_261_121),
  numRuns: Number(process.env["FC_RUNS"] ?? 100),
});
