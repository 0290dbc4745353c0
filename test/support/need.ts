import { TestRunner } from "vitest";
import { isMissing, missingMessage, REQUIRES_ALL, type Tool } from "./tools.ts";

/**
 * Leaves the test that runs out where its tool is missing. A file that starts the tool in a hook, or runs tests
 * concurrently, has the tool as its `@module-tag` too: Vitest then leaves it out before anything starts.
 */
export function need(tool: Tool): void {
  if (!isMissing(tool)) return;
  const test = REQUIRES_ALL ? undefined : TestRunner.getCurrentTest();
  if (test === undefined) throw new Error(missingMessage(tool));
  test.context.skip(tool);
}
