// @module-tag nightly
import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

/** The call after the press at which the app dies, and whether the job service has done it by then. */
const moments = [
  ["between the press and the cancel", "get", "before"],
  ["before the answer to the cancel", "cancel", "after"],
] as const;

it.each(moments)(
  "an app that is killed %s stops the agent after its next start: once, with one outcome",
  async (_, op, phase) => {
    await using slack = await startSlackSide();
    await using service = await startJobServiceSide({ level: 1 });
    await using dir = await openTempDir();
    const env = {
      ...environment(slack, service),
      STORE_URL: `sqlite://${dir.file("state.sqlite")}`,
      // No poll comes in between.
      POLL_MIN_MS: "60000",
    };
    await using first = new AppProcess({ env });
    slack.setAppUrl(`${await first.ready()}/slack/events`);
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const status = () => slack.messages(DOCS).map((message) => slack.visibleText(message))[0] ?? "";
    await slack.until(() => service.creates.length === 1 && status().includes("[Stop]"));
    service.onCall(async (at, call) => {
      if (at === phase && call.op === op) await first.kill();
    });
    const [message] = slack.messages(DOCS);
    const pressed = slack
      .person(ANA)
      .click({ channel: DOCS, messageTs: message?.ts ?? "", actionId: "stop_turn" });
    await first.exit();
    await pressed;
    service.onCall(null);
    await using second = new AppProcess({ env });
    slack.setAppUrl(`${await second.ready()}/slack/events`);
    await slack.until(() => status().endsWith("⏹️ Stopped"), 30_000);
    const said = slack.messages(DOCS).map((each) => slack.visibleText(each).split("\n")[0]);
    expect(said.slice(1)).toEqual(["⏹️ @Ana stopped the agent."]);
    expect(service.cancels).toEqual(["job_1/1"]);
  },
  60_000,
);
