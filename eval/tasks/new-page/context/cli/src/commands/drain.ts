import { command, flag, option } from "../command.ts";
import { connect } from "../broker.ts";
import { EXIT } from "../exit.ts";

const DEFAULT_TIMEOUT_MS = 120_000;

/** Pauses a queue, then waits until no worker holds a message of it. The queue stays paused. */
export const drain = command("drain", {
  options: {
    queue: option("queue", { required: true }),
    timeout: option("timeout", { parse: (text) => Number(text) * 1000, default: DEFAULT_TIMEOUT_MS }),
    quiet: flag("quiet"),
    reap: flag("reap", { hidden: true, experimental: true }),
  },
  async run({ queue, timeout, quiet, reap }) {
    const broker = await connect();
    await broker.pause(queue);
    const deadline = Date.now() + timeout;
    for (let held = await broker.held(queue); held > 0; held = await broker.held(queue)) {
      if (Date.now() > deadline) {
        if (reap) await broker.release(queue);
        return EXIT.timedOut;
      }
      if (!quiet) console.log(`${held} left`);
      await broker.changed(queue);
    }
    return EXIT.ok;
  },
});
