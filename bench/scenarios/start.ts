import { interleave, type Scenario } from "../scenario.ts";
import { StandIns, type Subject, startBareBolt, startDocsAgent } from "../subjects.ts";

const ROUNDS = 9;

/**
 * How long a restart keeps Slack waiting: from the spawn to the line that says "ready", with a fresh store. Each side starts
 * once before, so a compile cache that the program keeps is warm, as it is at a restart.
 */
export const start: Scenario = {
  name: "start",
  summary: "time from spawn to ready, against bare Bolt",
  async run({ checkout, dir }) {
    await using standIns = await StandIns.start(dir, {});
    async function measure({ program }: Subject): Promise<number> {
      await using _ = program;
      return program.readyAfterMs;
    }
    const docsAgent = async (round: number) =>
      measure(await startDocsAgent({ checkout, standIns, dir, store: `start-${round}.sqlite` }));
    const bareBolt = async () => measure(await startBareBolt(dir));
    const first = await interleave(1, () => docsAgent(ROUNDS), bareBolt);
    const { a, b } = await interleave(ROUNDS, docsAgent, bareBolt);
    return [
      {
        what: "spawn to ready",
        unit: "ms",
        measured: { name: "docs-agent", values: a },
        against: { name: "bare Bolt", values: b },
        reach: "ratio ≤ 1.30",
      },
      {
        what: "spawn to ready, the first time",
        unit: "ms",
        measured: { name: "docs-agent", values: first.a },
        against: { name: "bare Bolt", values: first.b },
      },
    ];
  },
};
