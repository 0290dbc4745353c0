import { BenchRedis, hasRedis, type Sync } from "../redis.ts";
import { type Figure, inTurn, type Scenario, type Side } from "../scenario.ts";
import { measureTurns, type TurnCosts } from "../turns.ts";

const TURNS = 600;
const ROUNDS = 3;

/** Measures turns with one poll that come all at once, on SQLite and with replicas on Redis. */
export const turns: Scenario = {
  name: "turns",
  summary: `${TURNS} turns at once: 1, 2 and 4 replicas on Redis against SQLite; a turn's cost at Redis`,
  async run(context) {
    const { dir, progress } = context;
    if (!hasRedis()) {
      progress("redis-server is missing, so nothing is measured");
      return [];
    }
    const onRedis =
      (replicas: number, sync: Sync = "always") =>
      async (): Promise<TurnCosts> => {
        await using store = await BenchRedis.start(dir, sync);
        return await measureTurns(context, { store, turns: TURNS, replicas });
      };
    const results = await inTurn(ROUNDS, [
      (round) => {
        progress(`round ${round + 1} of ${ROUNDS}`);
        return measureTurns(context, { store: `turns-${round}.sqlite`, turns: TURNS });
      },
      onRedis(1),
      onRedis(2),
      onRedis(4),
      onRedis(1, "everysec"),
    ]);
    const [sqlite = [], one = [], two = [], four = [], everySecond = []] = results;
    const perSecond = (name: string, costs: readonly TurnCosts[]): Side => ({
      name,
      values: costs.map(({ turnsPerSecond }) => turnsPerSecond),
    });
    const cpu = (name: string, costs: readonly TurnCosts[]): Side => ({
      name,
      values: costs.map(({ cpuMsPerTurn }) => cpuMsPerTurn),
    });
    const atRedis = (of: keyof NonNullable<TurnCosts["redis"]>): Side => ({
      name: "1 replica",
      values: one.map(({ redis }) => redis?.[of] ?? NaN),
    });
    const pairs: [string, TurnCosts[], string, TurnCosts[]][] = [
      ["1 replica", one, "SQLite", sqlite],
      ["2 replicas", two, "1 replica", one],
      ["4 replicas", four, "1 replica", one],
      ["everysec", everySecond, "always", one],
    ];
    return [
      ...pairs.map(([name, costs, thanName, than]): Figure => ({
        what: "turns",
        unit: "per second",
        measured: perSecond(name, costs),
        against: perSecond(thanName, than),
      })),
      {
        what: "CPU per turn, without Redis's",
        unit: "ms",
        measured: cpu("1 replica", one),
        against: cpu("SQLite", sqlite),
      },
      { what: "CPU per turn at Redis", unit: "ms", measured: atRedis("cpuMs") },
      {
        what: "polls",
        unit: "per turn",
        measured: { name: "1 replica", values: one.map((costs) => costs.pollsPerTurn) },
      },
      { what: "commands at Redis", unit: "per turn", measured: atRedis("commands") },
      { what: "scripts at Redis", unit: "per turn", measured: atRedis("scripts") },
      { what: "network to and from Redis per turn", unit: "bytes", measured: atRedis("netBytes") },
      { what: "append-only file per turn", unit: "bytes", measured: atRedis("aofBytes") },
      { what: "memory of Redis per ended turn", unit: "bytes", measured: atRedis("memoryBytes") },
    ];
  },
};
