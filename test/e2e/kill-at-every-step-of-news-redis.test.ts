import { describeKillInNews } from "../contracts/kill-in-news.ts";
import { openRedisKill } from "../support/kill-subjects.ts";

await describeKillInNews(openRedisKill);
