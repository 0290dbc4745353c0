import { describeKillAtEveryStep } from "../contracts/kill-at-every-step.ts";
import { openSqliteKill } from "../support/kill-subjects.ts";
import { TELLS_CHANGES } from "../support/service-kinds.ts";

await describeKillAtEveryStep(openSqliteKill, undefined, TELLS_CHANGES);
