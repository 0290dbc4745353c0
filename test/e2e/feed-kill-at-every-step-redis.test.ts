import { describeKillAtEveryStep } from "../contracts/kill-at-every-step.ts";
import { openRedisKill } from "../support/kill-subjects.ts";
import { sampled } from "../support/sampled.ts";
import { TELLS_CHANGES } from "../support/service-kinds.ts";

await describeKillAtEveryStep(openRedisKill, sampled, TELLS_CHANGES);
