import { setTimeout as sleep } from "node:timers/promises";
import { interleave, type Scenario } from "../scenario.ts";
import { StandIns, type Subject, startBareBolt, startDocsAgent } from "../subjects.ts";

const ROUNDS = 9;
/** By then the program has written its compile cache (`FLUSH_AFTER_MS`). */
const CACHED_AFTER_MS = 7000;

/**
 * Measures how long a restart keeps Slack waiting: from the spawn to the line that says "ready",
 * with a fresh store. Each side starts once before and stays up until it has a compile cache, so
 * that it is warm as after a restart.
 */
export const start: Scenario = {
  name: "start",
  summary: "time from spawn to ready, against bare Bolt",
  async run({ checkout, dir }) {
    await using standIns = await StandIns.start(dir, {});
    async function measure({ program }: Subject, staysMs = 0): Promise<number> {
      await using _ = program;
      await sleep(staysMs);
      return program.readyAfterMs;
    }
    const docsAgent = (round: number) =>
      startDocsAgent({ checkout, standIns, dir, store: `start-${round}.sqlite` });
    const first = await interleave(
      1,
      async () => measure(await docsAgent(ROUNDS), CACHED_AFTER_MS),
      async () => measure(await startBareBolt(dir)),
    );
    const { a, b } = await interleave(
      ROUNDS,
      async (round) => measure(await docsAgent(round)),
      async () => measure(await startBareBolt(dir)),
    );
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
