import { describeKillAtEveryStep } from "../contracts/kill-at-every-step.ts";
import { openSqliteKill } from "../support/kill-subjects.ts";
import { sampled } from "../support/sampled.ts";
import { TELLS_CHANGES } from "../support/service-kinds.ts";

await describeKillAtEveryStep(openSqliteKill, sampled, TELLS_CHANGES);
