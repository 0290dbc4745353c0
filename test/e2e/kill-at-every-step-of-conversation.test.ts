import { describeKillInConversation } from "../contracts/kill-in-conversation.ts";
import { openSqliteKill } from "../support/kill-subjects.ts";

await describeKillInConversation(openSqliteKill, 3);
