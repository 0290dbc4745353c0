import { expect, it } from "vitest";
import { shareList } from "../../../src/app/intake/share-list.ts";
import { makeQuoted } from "../../support/builders.ts";

it("a form whose thread has yet to be read says what leaves Slack if it is sent now, and lists nothing", () => {
  const draft = {
    version: 1 as const,
    from: "shortcut" as const,
    teamId: "T1",
    channelId: "C1",
    threadTs: "1.0",
    quoted: makeQuoted(),
    responseUrl: null,
    isThreadUnread: true,
  };
  const [notes, ...others] = shareList({ ...draft, quotesWordsOnly: true });
  expect(others).toEqual([]);
  expect(JSON.stringify(notes)).toContain("If you send the form now, nothing else of it goes along.");
  expect(JSON.stringify(notes)).toContain(
    "The agent will see the message above. The pull request quotes only your own words",
  );
  expect(JSON.stringify(shareList(draft))).toContain("the pull request may quote it");
});
