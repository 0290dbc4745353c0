/**
 * The program that the product is compared with: a Bolt app that only acknowledges.
 * `node bare-bolt.ts <signing secret>`. It calls nothing at Slack when it starts, so it is as small
 * as a Bolt app over HTTP can be.
 */
import { App, HTTPReceiver, LogLevel } from "@slack/bolt";

const receiver = new HTTPReceiver({ signingSecret: process.argv[2] ?? "", logLevel: LogLevel.ERROR });
const app = new App({
  receiver,
  token: "xoxb-bench",
  botId: "B0BENCH",
  botUserId: "U0BOT",
  tokenVerificationEnabled: false,
  convoStore: false,
  logLevel: LogLevel.ERROR,
});
app.command("/docs-agent", async ({ ack }) => ack());

const server = await receiver.start({ port: 0, host: "127.0.0.1" });
const address = server.address();
const port = address !== null && typeof address === "object" ? address.port : 0;
process.stdout.write(`${JSON.stringify({ msg: "bare Bolt is ready", address: `127.0.0.1:${port}` })}\n`);

// This program ends with the bench, no matter how the bench ended.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(1), 1000).unref();
