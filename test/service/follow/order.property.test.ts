import fc from "fast-check";
import { expect, it } from "vitest";
import { type AfterLook, afterSeen, afterUnseen } from "../../../src/service/pulls/follow/judge.ts";
import { type FollowedJob, FollowMemory } from "../../../src/service/jobs/followed-store.ts";
import type { FollowedPullRequest } from "../../../src/shared/contract/pull-request.ts";

const DAY = 24 * 3_600_000;
const OPENED = Date.UTC(2026, 0, 5);
const POLL = 60_000;

function recordOf(version: number, state: FollowedPullRequest["state"]): FollowedPullRequest {
  return {
    url: "https://github.com/acme/docs/pull/7",
    number: 7,
    title: `Version ${version}`,
    state,
    isDraft: false,
    review: "none",
    checks: { state: version % 2 === 0 ? "pending" : "passed", failed: [] },
    reviews: [],
    waitingFor: [],
    mergeable: state !== "open" || version % 3 !== 0 ? true : null,
    blockedBy: null,
    headSha: "abc",
    isVisible: true,
    openedAt: OPENED,
  };
}

const Happening = fc.oneof(
  // At the host; checks don't move the time of the last change.
  fc.record({
    kind: fc.constant("change" as const),
    moves: fc.boolean(),
    state: fc.constantFrom<FollowedPullRequest["state"]>("open", "open", "open", "closed"),
  }),
  // What reaches us, late, doubled or not at all.
  fc.record({ kind: fc.constant("list" as const), behind: fc.nat(2) }),
  fc.record({ kind: fc.constant("look" as const), behind: fc.nat(2) }),
  fc.record({ kind: fc.constant("webhook" as const) }),
  fc.record({ kind: fc.constant("refusal" as const), isRefused: fc.boolean() }),
  fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 1, max: DAY / 4 }) }),
);

it("ends with what the host shows, in whatever order and however often it is heard of", () => {
  fc.assert(
    fc.property(fc.array(Happening, { maxLength: 40 }), fc.boolean(), (happenings, isMerged) => {
      let now = OPENED;
      let version = 1;
      const versions = [{ record: recordOf(1, "open"), updatedAt: OPENED }];
      const newest = () =>
        versions[versions.length - 1] ?? { record: recordOf(1, "open"), updatedAt: OPENED };
      let job: FollowedJob = {
        jobId: "a",
        projectId: "docs",
        branchPrefix: "docs-agent/",
        link: newest().record.url,
        beganAt: now,
        lookAt: now,
        memory: FollowMemory.parse({}),
        record: null,
      };
      let isFollowed = true;
      let listedAt = 0;
      function take({ record, memory, lookAt }: AfterLook): void {
        if (lookAt === null) isFollowed = false;
        else expect(lookAt).toBeGreaterThan(now);
        job = { ...job, record, memory, lookAt: lookAt ?? Infinity };
      }
      function look(behind: number): void {
        const seen = versions[Math.max(0, versions.length - 1 - behind)] ?? newest();
        if (!isFollowed) return;
        const { record, memory } = job;
        take(afterSeen(job, { ...seen, listedAt }, { nowMs: now, pollMs: POLL }));
        // A copy that lags behind isn't believed at once.
        if (record !== null && seen.updatedAt < memory.seenAt && memory.unknowns === 0) {
          expect(job.record).toEqual(record);
        }
      }
      function list(behind: number): void {
        const { updatedAt } = versions[Math.max(0, versions.length - 1 - behind)] ?? newest();
        listedAt = updatedAt;
        if (updatedAt > job.memory.seenAt) job = { ...job, lookAt: now };
      }
      function change(state: FollowedPullRequest["state"], moves: boolean): void {
        const isSame = state === newest().record.state;
        version += 1;
        const updatedAt = moves || !isSame ? now : newest().updatedAt;
        versions.push({ record: recordOf(version, state), updatedAt });
      }
      for (const happening of happenings) {
        now += 1000;
        if (happening.kind === "change") change(happening.state, happening.moves);
        else if (happening.kind === "list") list(happening.behind);
        else if (happening.kind === "webhook") job = { ...job, lookAt: now };
        else if (happening.kind === "look") look(happening.behind);
        else if (happening.kind === "refusal") {
          if (isFollowed) take(afterUnseen(job, happening.isRefused, now));
        } else now += happening.ms;
      }
      now += 1000;
      change(isMerged ? "merged" : "open", true);
      const endMs = now + DAY;
      for (let looks = 0; isFollowed && now < endMs; looks += 1) {
        expect(looks).toBeLessThan(2000);
        list(0);
        if (job.lookAt <= now) look(0);
        now = Math.min(Math.max(job.lookAt, now + 1), now + POLL);
      }
      if (isFollowed || isMerged) expect(job.record).toEqual(newest().record);
      expect(isFollowed).toBe(!isMerged);
    }),
  );
});

it("ends after ninety days, and two weeks after it was closed", () => {
  const job = (over: Partial<FollowedJob> = {}): FollowedJob => ({
    jobId: "a",
    projectId: "docs",
    branchPrefix: "docs-agent/",
    link: "",
    beganAt: OPENED,
    lookAt: 0,
    memory: FollowMemory.parse({}),
    record: null,
    ...over,
  });
  const at = (nowMs: number) => ({ nowMs, pollMs: POLL });
  const open = { record: recordOf(1, "open"), updatedAt: OPENED, listedAt: OPENED };
  expect(afterSeen(job(), open, at(OPENED + 90 * DAY - 1)).lookAt).not.toBeNull();
  expect(afterSeen(job(), open, at(OPENED + 90 * DAY)).lookAt).toBeNull();
  expect(afterUnseen(job(), true, OPENED + 90 * DAY).lookAt).toBeNull();
  const closed = { ...open, record: recordOf(1, "closed") };
  const after = afterSeen(job(), closed, at(OPENED + 5));
  const again = job({ ...after, lookAt: 0 });
  expect(afterSeen(again, closed, at(OPENED + 4 + 14 * DAY)).lookAt).not.toBeNull();
  expect(afterSeen(again, closed, at(OPENED + 5 + 14 * DAY)).lookAt).toBeNull();
  expect(afterUnseen(again, true, OPENED + 5 + 14 * DAY).lookAt).toBeNull();
});
