// @module-tag redis-server
// @module-tag all
import { expect, it } from "vitest";
import { startRedisServer } from "../../support/redis-server.ts";
import { redisPrefix } from "../../support/redis.ts";
import { dumpOf, runState } from "../../support/state.ts";
import { ANA, BEN, clock, endedTurn, fill, turnsOfAll } from "../../support/stored-person.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const MANY = 10_000;
/** Threads of others, which Ana has only muted. */
const threadOf = (n: number) => `1600${String(n).padStart(6, "0")}.000000`;
const others = Array.from({ length: MANY }, (_, n) =>
  endedTurn(`command:many-${n}`, {
    job: `many-${n}`,
    thread: threadOf(n),
    userId: n % 2 === 0 ? BEN : "U0CLEO",
    instructions: `fix page ${n}`,
  }),
);

type Line = { kind: string; id: string; text?: string; time?: number };

/** The dump of a store: its lines by kind and id, without the times that depend on the run. */
async function linesIn(store: string): Promise<Map<string, string>> {
  const lines = (await dumpOf({ store, clock })).slice(1, -1).map((line) => JSON.parse(line) as Line);
  return new Map(lines.map((line) => [`${line.kind} ${line.id} ${line.time ?? ""}`, line.text ?? ""]));
}

it.each(["sqlite", "redis"])(
  "explains and forgets among 10,000 turns, and leaves the others as they were: on %s",
  { timeout: 600_000 },
  async (kind) => {
    await using dir = await openTempDir();
    await using server = await startRedisServer();
    const store = kind === "sqlite" ? dir.file("state.sqlite") : redisPrefix(server.url).url;
    await fill(store, [...turnsOfAll(), ...others]);
    const before = await linesIn(store);
    expect([...before.keys()].filter((key) => key.startsWith("record turn:"))).toHaveLength(MANY + 7);

    const asked = `https://acme.slack.com/archives/C0DOCS/p${threadOf(7_777).replace(".", "")}`;
    const explained = await runState({ store, clock }, "explain", asked);
    expect(explained).toMatch(/^turn command:many-7777, project \S+, job many-7777$/m);
    expect(explained).toContain("fix page 7777");
    expect(explained.match(/^turn /gm)).toHaveLength(1);
    const untouched = await linesIn(store);
    expect([...before].filter(([key, text]) => untouched.get(key) !== text)).toEqual([]);

    const told = await runState({ store, clock }, "forget", ANA);
    expect(told).toContain(
      `Forgetting what ${ANA} asked in 2 turns, and what they wrote in 2 turns of others`,
    );
    expect(told).toContain("\n3 jobs, which take no more messages: job-1, job-2, job-4\n");
    const after = await linesIn(store);
    // Of the others, nothing but that she had muted their threads.
    const isOthers = (key: string) => /many-\d+|:1600\d{6}\.0/.test(key);
    const ofOthers = (lines: Map<string, string>) => [...lines].filter(([key]) => isOthers(key));
    const changed = ofOthers(before).filter(
      ([key, text]) => after.get(key) !== text.replaceAll(`"${ANA}",`, ""),
    );
    expect(changed.slice(0, 3)).toEqual([]);
    expect(ofOthers(before).length).toBeGreaterThanOrEqual(3 * MANY);
    expect(ofOthers(after)).toHaveLength(ofOthers(before).length);
    const naming = [...after.values()].filter((text) =>
      text.replaceAll(`as <@${ANA}> said`, "").includes(ANA),
    );
    expect(naming.slice(0, 3)).toEqual([]);
    await expect(runState({ store, clock }, "forget", ANA)).rejects.toThrow(/^Nothing is stored of U0ANA/);
  },
);
