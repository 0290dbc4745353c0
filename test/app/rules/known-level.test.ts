import { expect, it } from "vitest";
import { knownLevel, ServiceRecord } from "../../../src/app/rules/records.ts";
import { saidByService } from "../../../src/shared/contract/level.ts";

function read(capabilities?: readonly string[]): ServiceRecord {
  return ServiceRecord.parse({ version: 1, honorsIdempotencyKeys: true, capabilities });
}

/** Everything that the version before could name. It reads a record by these names. */
const OLD = [
  "idempotency-key",
  "turns",
  "list",
  "cancel",
  "archive",
  "questions",
  "attachments",
  "requester",
  "authors",
  "pull-request",
  "diff",
  "close",
  "changes",
];

it("a service is known by what a version before levels kept of it", () => {
  expect(knownLevel(read(OLD))).toBe(1);
  expect(knownLevel(read(["turns", "questions"]))).toBe(0);
  expect(knownLevel(read([]))).toBe(0);
  expect([knownLevel(read()), knownLevel(undefined)]).toEqual([undefined, undefined]);
});

it.each([1, 2] as const)(
  "a service of level %i is kept so that a version before levels finds all parts",
  (level) => {
    expect(saidByService(level)).toEqual(expect.arrayContaining(OLD));
    expect(knownLevel(read(saidByService(level)))).toBe(level);
  },
);
