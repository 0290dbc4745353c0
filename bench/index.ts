import type { Scenario } from "./scenario.ts";
import { accept } from "./scenarios/accept.ts";
import { busyChannel } from "./scenarios/busy-channel.ts";
import { busyWorkspace } from "./scenarios/busy-workspace.ts";
import { commits } from "./scenarios/commits.ts";
import { feed } from "./scenarios/feed.ts";
import { flood } from "./scenarios/flood.ts";
import { followUps } from "./scenarios/follow-ups.ts";
import { idle } from "./scenarios/idle.ts";
import { memory } from "./scenarios/memory.ts";
import { polls } from "./scenarios/polls.ts";
import { turns } from "./scenarios/turns.ts";
import { redisMemory } from "./scenarios/redis-memory.ts";
import { polling } from "./scenarios/polling.ts";
import { runners } from "./scenarios/runners.ts";
import { serviceHistory } from "./scenarios/service-history.ts";
import { serviceRequests } from "./scenarios/service-requests.ts";
import { serviceTurns } from "./scenarios/service-turns.ts";
import { slowTexts } from "./scenarios/slow-texts.ts";
import { start } from "./scenarios/start.ts";
import { throughput } from "./scenarios/throughput.ts";

/** Every scenario, in the order of the table. Together they take about twenty minutes. */
export const scenarios: readonly Scenario[] = [
  busyWorkspace,
  busyChannel,
  flood,
  accept,
  throughput,
  commits,
  polling,
  feed,
  start,
  memory,
  idle,
  turns,
  followUps,
  polls,
  redisMemory,
  serviceTurns,
  runners,
  serviceRequests,
  serviceHistory,
  slowTexts,
];
