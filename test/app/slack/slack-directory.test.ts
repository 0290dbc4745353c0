import { expect, it } from "vitest";
import { createSlackDirectory } from "../../../src/app/slack/slack-directory.ts";
import { ANA, DOCS, RANDOM, startSide } from "../messages/setup.ts";
import type { Side } from "../messages/setup.ts";

function directoryOf({ team, clock, logger }: Side) {
  return createSlackDirectory({ team, allowGuests: false, clock, logger });
}

it("names people and channels", async () => {
  await using side = await startSide();
  const directory = directoryOf(side);
  expect(await directory.personName(ANA)).toBe("Ana");
  expect(await directory.channelName(DOCS)).toBe("docs");
  expect(await directory.personName("U0NOBODY")).toBe(null);
});

it("asks once for the groups that one message mentions", async () => {
  await using side = await startSide();
  side.slack.workspace.addGroup({ id: "S0DOCS", handle: "docs-team", name: "Docs team" });
  const directory = directoryOf(side);
  const named = ["S0DOCS", "S0NONE", "S0DOCS"].map((id) => directory.groupName(id));
  expect(await Promise.all(named)).toEqual(["docs-team", null, "docs-team"]);
  expect(side.slack.calls.filter(({ method }) => method === "usergroups.list")).toHaveLength(1);
});

it("gives a permalink, and builds it on the team's own address where Slack does not say", async () => {
  await using side = await startSide();
  const directory = directoryOf(side);
  const { message } = await side.slack.person(ANA).say({ channel: DOCS, text: "The FAQ is wrong" });
  const { url } = side.slack.workspace.team;
  const id = message.ts.replace(".", "");
  expect(await directory.permalink({ channelId: DOCS, ts: message.ts, threadTs: null })).toBe(
    `${url}archives/${DOCS}/p${id}`,
  );
  side.slack.faults.add({
    method: "chat.getPermalink",
    fault: { kind: "error", error: "channel_not_found" },
  });
  expect(await directory.permalink({ channelId: RANDOM, ts: "2.000200", threadTs: "1.000100" })).toBe(
    `${url}archives/${RANDOM}/p2000200?thread_ts=1.000100&cid=${RANDOM}`,
  );
});
