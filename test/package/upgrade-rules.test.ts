import { expect, it } from "vitest";
import { isOlder, type UpgradeJournal, nextStep, versionOfRelease } from "../../src/upgrade/rules.ts";

const JOURNAL: UpgradeJournal = {
  version: 1,
  from: "0.1.0-aaaaaaaa",
  to: "0.2.0-bbbbbbbb",
  units: [],
  backup: null,
  isBack: false,
};

it.each([
  [false, JOURNAL.from, "switch"],
  [false, JOURNAL.to, "try"],
  [true, JOURNAL.to, "restore"],
  [true, JOURNAL.from, "start-old"],
] as const)(
  "after a break, going back or not (%s), with %s as the release that runs: %s",
  (isBack, current, step) => {
    expect(nextStep({ ...JOURNAL, isBack }, current)).toBe(step);
  },
);

it("the first installation has no release before it", () => {
  expect(nextStep({ ...JOURNAL, from: null }, null)).toBe("switch");
});

it("tells versions from hashes, and older from newer", () => {
  expect(versionOfRelease("0.2.0-bbbbbbbb")).toBe("0.2.0");
  expect(versionOfRelease("0.2.0-rc.1-bbbbbbbb")).toBe("0.2.0-rc.1");
  expect(isOlder("0.9.1", "0.10.0")).toBe(true);
  expect(isOlder("0.10.0", "0.9.1")).toBe(false);
  expect(isOlder("0.2.0-rc.1", "0.2.0")).toBe(false);
});
