import { describeKillInConversation } from "../contracts/kill-in-conversation.ts";
import { openRedisKill } from "../support/kill-subjects.ts";

await describeKillInConversation(openRedisKill, 10);
