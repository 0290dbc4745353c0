import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxConcurrency: 8,
    // Most of a test is waiting for another process, so more workers than cores.
    maxWorkers: 4,
  },
});
