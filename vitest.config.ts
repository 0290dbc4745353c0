import { defineConfig } from "vitest/config";
import { LeftOut } from "./test/support/left-out.ts";
import { keepForOneRun, useMemoryForFiles } from "./test/support/temp-dir.ts";
import { isMissing, REQUIRES_ALL, TOOLS } from "./test/support/tools.ts";

useMemoryForFiles();
keepForOneRun();

/** World suites that run on Redis, too: what a person sees is the same there. */
const ON_REDIS = ["clock-jumps", "main-job", "questions"];
/** More of them, which `npm test` leaves to `npm run test:nightly`. */
const ON_REDIS_NIGHTLY = [
  "already-asked",
  "context",
  "direct-messages",
  "edits",
  "feedback",
  "files",
  "follow-and-mute",
  "follow-up-policies",
  "follow-ups",
  "follow-ups-at-work",
  "guests",
  "incomplete-commands",
  "lists",
  "overdue",
  "projects",
  "pull-request-news",
  "question-replies",
  "reactions",
  "silent-job-service",
  "stop",
];

/**
 * These files have workers of their own. Most of them run git, together thousands of times, and
 * starting a program takes longer the larger the process is that starts it. So V8's young
 * generation is small in them.
 */
const PROGRAMS = ["test/service/**/*.test.ts", "test/world/code-host/*.test.ts"];

const onRedis = { globalSetup: ["test/support/redis-for-all.ts"], env: { TEST_STORE: "redis" } };

export default defineConfig({
  test: {
    reporters: ["default", new LeftOut()],
    tags: [
      ...TOOLS.map((name) => ({ name, ...(isMissing(name) && !REQUIRES_ALL ? { skip: true } : {}) })),
      // Each leaves npm test to the command of its name.
      { name: "all" },
      { name: "nightly" },
    ],
    setupFiles: ["test/support/setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxConcurrency: 8,
    // Most of a test is waiting for another process, so more workers than cores.
    maxWorkers: 5,
    // A worker keeps what it has loaded and compiled for the next file: that halves what a World
    // suite takes. Tests share no state, so files may share modules.
    isolate: false,
    projects: [
      // Vitest starts projects in the order of their names: these are the longest files.
      { extends: true, test: { name: "programs", include: PROGRAMS, execArgv: ["--max-semi-space-size=2"] } },
      {
        extends: true,
        test: {
          name: "shared",
          // An `exclude` here would replace those of the command line.
          include: ["test/**/*.test.ts", ...PROGRAMS.map((files) => `!${files}`)],
          ...(process.env["TEST_STORE"] === "redis" ? onRedis : {}),
        },
      },
      {
        extends: true,
        test: { name: "redis", include: [`test/e2e/{${ON_REDIS.join()}}.test.ts`], ...onRedis },
      },
      {
        extends: true,
        test: {
          name: "redis-nightly",
          include: [`test/e2e/{${ON_REDIS_NIGHTLY.join()}}.test.ts`],
          ...onRedis,
        },
      },
    ],
  },
});
