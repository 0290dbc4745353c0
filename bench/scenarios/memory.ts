import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "../load.ts";
import { rssMb } from "../process-use.ts";
import { BenchError, interleave, type Scenario } from "../scenario.ts";
import { signedRequests } from "../signed-request.ts";
import { StandIns, startBareBolt, startDocsAgent } from "../subjects.ts";

const TURNS = 2000;
const TURNS_TEXT = TURNS.toLocaleString("en-US");
const CONNECTIONS = 10;
const ROUNDS = 2;
/** Pauses after "ready" and after the last turn, so that temporary memory is released. */
const SETTLE_MS = 2000;
const TURNS_WITHIN_MS = 180_000;

/**
 * Measures resident memory, read from the system: the memory that every Bolt app needs, and the
 * product's addition to it.
 */
export const memory: Scenario = {
  name: "memory",
  summary: `resident memory at rest, above bare Bolt's, and after ${TURNS_TEXT} turns`,
  async run({ checkout, dir, progress }) {
    async function measureDocsAgent(round: number): Promise<{ atRest: number; afterTurns: number }> {
      progress(`round ${round + 1} of ${ROUNDS}`);
      await using standIns = await StandIns.start(dir, { jobMs: [200, 900] });
      const env = { POLL_MIN_MS: "1000" };
      const store = `memory-${round}.sqlite`;
      const { program, origin } = await startDocsAgent({ checkout, standIns, dir, store, env });
      await using _ = program;
      await sleep(SETTLE_MS);
      const atRest = rssMb(program.pid);
      await using load = new Load(origin, CONNECTIONS, signedRequests(TURNS, TURNS));
      await load.run(Infinity);
      const haveEnded = await standIns.until(({ posted }) => posted >= TURNS, TURNS_WITHIN_MS);
      if (!haveEnded) throw new BenchError(`${TURNS} turns didn't end within ${TURNS_WITHIN_MS / 1000} s.`);
      await sleep(SETTLE_MS);
      return { atRest, afterTurns: rssMb(program.pid) };
    }
    async function measureBareBolt(): Promise<number> {
      const { program } = await startBareBolt(dir);
      await using _ = program;
      await sleep(SETTLE_MS);
      return rssMb(program.pid);
    }
    const { a, b } = await interleave(ROUNDS, measureDocsAgent, measureBareBolt);
    const bareBolt = { name: "bare Bolt", values: b };
    const atRest = a.map((rss) => rss.atRest);
    return [
      {
        what: "RSS at rest",
        unit: "MB",
        measured: { name: "docs-agent", values: atRest },
        against: bareBolt,
      },
      {
        what: "RSS at rest above bare Bolt",
        unit: "MB",
        measured: { name: "difference", values: atRest.map((rss, round) => rss - (b[round] ?? NaN)) },
        reach: "≤ 15",
      },
      {
        what: `RSS after ${TURNS_TEXT} turns`,
        unit: "MB",
        measured: { name: "docs-agent", values: a.map(({ afterTurns }) => afterTurns) },
        against: bareBolt,
        reach: "≤ 200",
      },
    ];
  },
};
