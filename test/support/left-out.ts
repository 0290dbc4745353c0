import type { Reporter, TestModule } from "vitest/node";
import { isMissing, missingMessage, TOOLS } from "./tools.ts";

/**
 * Vitest's reporter of tests that were left out because a tool is missing. It writes one line for
 * each such tool.
 */
export class LeftOut implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests("skipped")]);
    for (const tool of TOOLS.filter(isMissing)) {
      const { length } = skipped.filter((test) => {
        const result = test.result();
        return test.tags.includes(tool) || (result.state === "skipped" && result.note === tool);
      });
      console.log(`${length} ${length === 1 ? "test was" : "tests were"} left out: ${missingMessage(tool)}`);
    }
  }
}
