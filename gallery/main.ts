import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { WebClient } from "@slack/web-api";
import { messageOf } from "../src/shared/errors.ts";
import { askSlack, faultLines, renderedSamples } from "./gallery.ts";
import { galleryPage } from "./page.ts";
import { pullRequestsPage, writtenPullRequests } from "./pull-requests.ts";

const HELP = `The gallery: every message of the Slack app, shortest and longest, light and dark, on one page

Usage: npm run messages [-- options]

Checks each message against Slack's limits, writes the page, and says where. Exit code 1 if Slack would refuse
a message. Ten kinds of pull requests, as the job service writes them, are on a page beside it.

  --out FILE    where the page is written (data/messages.html)
  --help        this

SLACK_BOT_TOKEN in the environment: Slack itself checks each message, too (blocks.validate). Nothing is
posted.
SLACK_API_URL: Slack's Web API, if it isn't https://slack.com/api/.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: "data/messages.html" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const groups = renderedSamples();
  const token = process.env["SLACK_BOT_TOKEN"];
  const slackApiUrl = process.env["SLACK_API_URL"];
  if (token !== undefined && token !== "") {
    await askSlack(groups, new WebClient(token, { timeout: 15_000, ...(slackApiUrl && { slackApiUrl }) }));
  }
  const file = resolve(values.out);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, galleryPage(groups));
  const beside = join(dirname(file), "pull-requests.html");
  writeFileSync(beside, pullRequestsPage(writtenPullRequests()));
  const count = groups.reduce((sum, { messages }) => sum + messages.length, 0);
  process.stdout.write(`Wrote ${count} messages. Open ${pathToFileURL(file).href}\n`);
  process.stdout.write(`Wrote pull requests. Open ${pathToFileURL(beside).href}\n`);
  const faults = faultLines(groups);
  if (faults.length === 0) return;
  process.stderr.write(`Slack would refuse:\n${faults.join("\n")}\n`);
  process.exitCode = 1;
}

try {
  await main();
} catch (thrown) {
  process.stderr.write(`Can't write the gallery: ${messageOf(thrown)}\n`);
  process.exitCode = 1;
}
