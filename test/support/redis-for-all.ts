import type { TestProject } from "vitest/node";
import { startRedisServer } from "./redis-server.ts";
import { isMissing, REQUIRES_ALL } from "./tools.ts";

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string;
  }
}

/**
 * Vitest's `globalSetup` for suites that run on Redis as a whole: one server for all of them.
 * Without Redis there is no server, and {@link World}'s tests are left out.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (isMissing("redis-server") && !REQUIRES_ALL) {
    project.provide("redisUrl", "");
    return async () => {};
  }
  const server = await startRedisServer();
  project.provide("redisUrl", server.url);
  return async () => server[Symbol.asyncDispose]();
}
