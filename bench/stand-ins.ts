/**
 * The two sides that the program stands between: a Slack and a job service, in a process of their
 * own, so that their work doesn't delay the clock of the load. `node stand-ins.ts <options as
 * JSON>`. It writes the environment for a program between the two, and reports what happened on
 * request. When the bench has ended, no matter how, it ends and takes the measured programs with
 * it.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import process from "node:process";
import { z } from "zod";
import { PROJECT_ID, SIGNING_SECRET } from "../world/light/identity.ts";
import { createLightJobService } from "../world/light/job-service.ts";
import { Journal } from "../world/light/journal.ts";
import { createLightSlack } from "../world/light/slack.ts";

const Options = z.object({
  isLimited: z.boolean(),
  isHeld: z.boolean(),
  jobMs: z.tuple([z.number(), z.number()]).nullable(),
  reportsTurns: z.boolean(),
});
const Question = z.discriminatedUnion("ask", [
  z.object({ ask: z.literal("counts") }),
  z.object({ ask: z.literal("report") }),
  z.object({ ask: z.literal("takes-messages"), areTaken: z.boolean() }),
  z.object({ ask: z.literal("ends-with-the-bench"), pid: z.number() }),
]);

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`;
}

const options = Options.parse(JSON.parse(process.argv[2] ?? ""));
const journal = new Journal();
const slackUrl = await listen(createLightSlack(journal, options));
const jobService = createLightJobService(journal, options);
const jobServiceUrl = await listen(jobService.server);
const programs = new Set<number>();

process.on("message", (message) => {
  const question = Question.parse(message);
  switch (question.ask) {
    case "counts":
      return process.send?.(journal.counts());
    case "report":
      return process.send?.(journal.report());
    case "takes-messages":
      jobService.takeMessages(question.areTaken);
      return process.send?.({});
    case "ends-with-the-bench":
      programs.add(question.pid);
      return process.send?.({});
  }
});
process.on("disconnect", () => {
  for (const pid of programs) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has already ended.
    }
  }
  process.exit(1);
});

const env = {
  SLACK_BOT_TOKEN: "xoxb-1234567890-abcdefghijkl",
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
  SLACK_API_URL: `${slackUrl}/api/`,
  HOST: "127.0.0.1",
  PORT: "0",
  DOCS_AGENT_BASE_URL: jobServiceUrl,
  DOCS_AGENT_PROJECT_ID: PROJECT_ID,
  DOCS_AGENT_API_KEY: "bench_key-0123456789",
};
process.stdout.write(`${JSON.stringify({ msg: "the stand-ins are ready", env })}\n`);
