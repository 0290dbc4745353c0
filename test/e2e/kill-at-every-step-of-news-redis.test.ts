import { describeKillInNews } from "../contracts/kill-in-news.ts";
import { openRedisKill } from "../support/kill-subjects.ts";
import { sampled } from "../support/sampled.ts";

await describeKillInNews(openRedisKill, sampled);
