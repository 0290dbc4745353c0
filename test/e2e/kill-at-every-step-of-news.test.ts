import { describeKillInNews } from "../contracts/kill-in-news.ts";
import { openSqliteKill } from "../support/kill-subjects.ts";

await describeKillInNews(openSqliteKill);
