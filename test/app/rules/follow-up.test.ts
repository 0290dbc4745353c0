import { describe, expect, it } from "vitest";
import { jobInThread } from "../../../src/app/rules/thread/follow-up.ts";
import type { Read } from "../../../src/app/rules/records.ts";
import { endTurn, newTurn } from "../../../src/app/rules/turn/turn.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import type { OutcomeKind } from "../../../src/app/rules/turn/outcome.ts";
import { makeJob, makeRequest } from "../../support/builders.ts";

const { project } = makeRequest();
const thread = { teamId: "T1", channelId: "C1", threadTs: "1.1" };

function at(id: string, jobId: string | null, end?: OutcomeKind): Turn {
  const job = jobId === null ? null : makeJob({ id: jobId });
  const turn: Turn = { ...newTurn(makeRequest({ id })), job };
  return end === undefined ? turn : endTurn(turn, end, 5);
}

function find(turns: Turn[], projects = [project]) {
  const records: Record<string, unknown> = {
    "thread T1:C1:1.1": { turnIds: turns.map(({ id }) => id) },
    ...Object.fromEntries(turns.map((turn) => [`turn ${turn.id}`, turn])),
  };
  const read = ((kind: string, id: string) => records[`${kind} ${id}`]) as Read;
  const found = jobInThread(read, thread, projects);
  return found.kind === "open" ? found.turn.id : found.kind;
}

describe("the job that a reply in a thread is for", () => {
  it.each<[string, Turn[], string]>([
    ["the newest", [at("1", "A", "pull-request"), at("2", "B", "failed")], "2"],
    ["one that is yet to come", [at("1", "A", "pull-request"), at("2", null)], "2"],
    ["an earlier one where the newest got none", [at("1", "A", "failed"), at("2", null, "rejected")], "1"],
    ["an earlier one where the newest is archived", [at("1", "A", "failed"), at("2", "B", "archived")], "1"],
    ["none, where its job was archived later", [at("1", "A", "failed"), at("2", "A", "archived")], "closed"],
    ["none, where it is missing", [at("1", "A", "missing")], "closed"],
    ["none, where no create arrived", [at("1", null, "unknown")], "none"],
    ["none in an empty thread", [], "none"],
  ])("is %s", (_, turns, expected) => {
    expect(find(turns)).toBe(expected);
  });

  it("is none of a project that is no longer configured", () => {
    const turns = [at("1", "A", "failed")];
    expect(find(turns, [{ ...project, id: "other" }])).toBe("closed");
  });
});
