/**
 * What the product stands between: a Slack and a job service, as the tests have them, in a process of their own, so that
 * their work does not delay the clock of the load. `node sides.ts <channels>`. Jobs stay active for ever. Says the
 * environment of an app between the two.
 */
import { environment, startSlackSide } from "../test/support/world.ts";
import { startJobServiceSide } from "../test/support/job-service-side.ts";
import { USER, channelId } from "./signed-request.ts";

const slack = await startSlackSide();
const service = await startJobServiceSide();
slack.workspace.addUser(USER);
for (let n = 0; n < Number(process.argv[2]); n += 1) {
  slack.workspace.addChannel({
    id: channelId(n),
    name: `bench-${n}`,
    members: [USER.id],
    withBot: true,
  });
}
// The timeouts of production: those of the tests are short, to make faults quick.
const { JOB_SERVICE_TIMEOUT_MS: _, ...env } = environment(slack, service);
process.stdout.write(`${JSON.stringify({ msg: "the sides are ready", env })}\n`);
