import type { TestProject } from "vitest/node";
import { startRedisServer } from "./redis-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string;
  }
}

/** Vitest's `globalSetup` where whole suites run on Redis: one server for all of them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startRedisServer();
  project.provide("redisUrl", server.url);
  return async () => server[Symbol.asyncDispose]();
}
