import { type Bench, interleave } from "./bench.ts";
import { type Subject, startBareBolt, startDocsAgent, startSides } from "./subjects.ts";

/** How long a restart keeps Slack waiting. */
export const start: Bench = {
  name: "start",
  summary: "time from spawn to ready, against bare Bolt",
  rounds: 9,
  budgetMs: 12_000,
  async run(context) {
    const { dir } = context;
    await using sides = await startSides(dir, 0);
    async function measure({ program }: Subject): Promise<number> {
      await using _ = program;
      return program.readyAfterMs;
    }
    // Not probed: loading the probe takes time, too.
    const { a, b } = await interleave(
      context,
      async (round) =>
        measure(await startDocsAgent({ sides, dir, store: `start-${round}.sqlite`, isProbed: false })),
      async () => measure(await startBareBolt({ sides, dir, isProbed: false })),
    );
    return [
      {
        what: "spawn to ready",
        unit: "ms",
        measured: { name: "docs-agent", values: a },
        against: { name: "bare Bolt", values: b },
      },
    ];
  },
};
