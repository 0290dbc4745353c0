import { describeKillAtEveryStep } from "../contracts/kill-at-every-step.ts";
import { openSqliteKill } from "../support/kill-subjects.ts";

await describeKillAtEveryStep(openSqliteKill);
