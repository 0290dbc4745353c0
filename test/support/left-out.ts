import type { Reporter, TestModule } from "vitest/node";
import { isMissing, missingMessage, TOOLS } from "./tools.ts";

/**
 * Vitest's reporter of tests that were left out. It writes one line for each tool that is missing,
 * and one for each other reason that a test gave.
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
    const notes = skipped.map((test) => test.result()).map((result) => "note" in result && result.note);
    const tools: readonly string[] = TOOLS;
    for (const note of new Set(notes)) {
      if (typeof note === "string" && !tools.includes(note)) console.log(`Left out: ${note}`);
    }
  }
}
