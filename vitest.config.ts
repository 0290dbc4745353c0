import { defineConfig } from "vitest/config";
import { LeftOut } from "./test/support/left-out.ts";
import { isMissing, REQUIRES_ALL, TOOLS } from "./test/support/tools.ts";

// What a person sees is the same on Redis.
const onRedis = { globalSetup: ["test/support/redis-for-all.ts"], env: { TEST_STORE: "redis" } };

export default defineConfig({
  test: {
    reporters: ["default", new LeftOut()],
    tags: TOOLS.map((name) => ({ name, ...(isMissing(name) && !REQUIRES_ALL ? { skip: true } : {}) })),
    setupFiles: ["test/support/setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxConcurrency: 8,
    // Most of a test is waiting for another process, so more workers than cores.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["test/**/*.test.ts"],
          ...(process.env["TEST_STORE"] === "redis" ? onRedis : {}),
        },
      },
      {
        extends: true,
        test: {
          name: "redis",
          include: [
            "test/e2e/{main-job,questions,question-replies,feedback,guests,edits,context,files,follow-ups,follow-ups-at-work,follow-up-policies,stop,overdue,follow-and-mute,already-asked,projects,lists,direct-messages,incomplete-commands,silent-job-service}.test.ts",
            "test/e2e/reactions.test.ts",
          ],
          ...onRedis,
        },
      },
    ],
  },
});
