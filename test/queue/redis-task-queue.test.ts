import { describeTaskQueue } from "../contracts/task-queue.ts";
import { openRedisSubject } from "../support/redis-task-queue.ts";

describeTaskQueue("Redis", openRedisSubject);
