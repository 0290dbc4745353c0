import { TestRunner } from "vitest";
import { isMissing, missingMessage, REQUIRES_ALL, type Tool } from "./tools.ts";

/**
 * Leaves the running test out if its tool is missing. A file that starts the tool in a hook, or
 * runs tests concurrently, names the tool in its `@module-tag` too. Then Vitest leaves it out
 * before anything starts.
 */
export function need(tool: Tool): void {
  if (!isMissing(tool)) return;
  const test = REQUIRES_ALL ? undefined : TestRunner.getCurrentTest();
  if (test === undefined) throw new Error(missingMessage(tool));
  test.context.skip(tool);
}
