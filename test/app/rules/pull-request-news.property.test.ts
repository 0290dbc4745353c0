import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KnownPullRequest, KnownReview } from "../../../src/app/rules/known-job.ts";
import { GROUP_MS, newsKindOf } from "../../../src/app/rules/turn/pull-request-news.ts";
import {
  followedUntil,
  nextNews,
  openStateOf,
  TurnPullRequest,
  withTold,
} from "../../../src/app/rules/turn/turn-pull-request.ts";
import { workingMs } from "../../../src/app/rules/turn/found-news.ts";
import { withPullRequest } from "../../../src/app/rules/turn/reported-pull-request.ts";
import { keepTurnMs } from "../../../src/app/rules/turn/turn.ts";
import { makeFollowed, makeOutcome, makeTurn } from "../../support/builders.ts";

const URL = "https://github.com/acme/docs/pull/7";
const MINUTE = 60_000;
const DAY = 86_400_000;
/** A Monday. */
const MONDAY = Date.UTC(2026, 10, 23, 9);
const LINKED = MONDAY;

function review(id: string, detail: Partial<KnownReview> = {}): KnownReview {
  return {
    id,
    author: `r-${id}`,
    words: `words ${id}`,
    state: "changes-requested",
    at: LINKED + 1,
    headSha: null,
    ...detail,
  };
}

/** What the thread is told, in order, when the service says this, each so many milliseconds after the one before. */
function tell(reports: readonly [number, Partial<KnownPullRequest>][]): TurnPullRequest {
  let now = LINKED;
  let known: TurnPullRequest | undefined;
  for (const [after, report] of reports) {
    now += after;
    known = withPullRequest(known, makeFollowed(report), { url: URL, linkedAt: LINKED, now });
    // It has to be storable at any moment.
    expect(TurnPullRequest.parse(JSON.parse(JSON.stringify(known)))).toEqual(known);
  }
  if (known === undefined) throw new Error("nothing was said");
  return known;
}

function kinds(reports: readonly [number, Partial<KnownPullRequest>][]): string[] {
  return tell(reports).news.map((news) =>
    news.kind === "changes-requested" ? `${news.kind} ${news.reviews.map(({ id }) => id).join()}` : news.kind,
  );
}

const FAILED = { checks: { state: "failed" as const, failed: ["links", "build"] } };

/** A report that a feed may give at any time, also one that is wrong. */
const anyReport = fc.record({
  state: fc.constantFrom<KnownPullRequest["state"][]>("open", "open", "open", "closed", "merged"),
  isDraft: fc.boolean(),
  isVisible: fc.constantFrom(true, true, true, false),
  review: fc.constantFrom<KnownPullRequest["review"][]>("none", "approved", "changes-requested"),
  headSha: fc.constantFrom("a", "b", null),
  checks: fc.record({
    state: fc.constantFrom<KnownPullRequest["checks"]["state"][]>("pending", "failed", "passed"),
    failed: fc.subarray(["links", "build", "spelling"]),
    reasons: fc.subarray([{ name: "links", words: "docs/a.md is lost", url: "https://ci.example/1" }]),
  }),
  blockedBy: fc.constantFrom<KnownPullRequest["blockedBy"][]>(null, "conflicts", "checks"),
  mergeable: fc.constantFrom(true, false, null),
  baseRef: fc.constantFrom("main", undefined),
  reviews: fc.subarray(["1", "2", "3", "4"]).map((ids) =>
    ids.map((id) =>
      review(id, {
        state: id === "4" ? "approved" : "changes-requested",
        comments: id === "3" ? [{ path: "docs/a.md", line: 1, words: "No." }] : undefined,
      }),
    ),
  ),
  waitingFor: fc.subarray(["maria", "tom"]),
  openedAt: fc.constantFrom(LINKED, null),
});
const anyFeed = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 * DAY }), anyReport), {
  minLength: 1,
  maxLength: 12,
});

describe("news of a pull request", () => {
  it("are told once, in any order and however often a feed repeats itself", () => {
    fc.assert(
      fc.property(anyFeed, (feed) => {
        const { news } = tell(feed);
        expect(new Set(news.map(({ id }) => id)).size).toBe(news.length);
        const reviews = news.flatMap((each) => (each.kind === "changes-requested" ? each.reviews : []));
        expect(new Set(reviews.map(({ id }) => id)).size).toBe(reviews.length);
        expect(reviews.map(({ id }) => id)).not.toContain("4");
        for (const once of ["merged", "closed", "waiting", "unseen"])
          expect(news.filter(({ kind }) => kind === once).length).toBeLessThanOrEqual(1);
        const failed = news.flatMap((each) =>
          newsKindOf(each) === "checks-failed" && each.kind === "checks-failed"
            ? [`${each.headSha} ${each.names.toSorted().join()}`]
            : [],
        );
        const conflicts = news.filter((each) => newsKindOf(each) === "conflicts").map(({ at }) => at);
        for (const [n, at] of conflicts.slice(1).entries())
          expect(at - (conflicts[n] ?? 0)).toBeGreaterThanOrEqual(DAY);
        expect(new Set(failed).size).toBe(failed.length);
        // What is merged stays merged, and nothing comes after it.
        const merged = news.findIndex(({ kind }) => kind === "merged");
        expect([-1, news.length - 1]).toContain(merged);
      }),
    );
  });

  it("say the same if everything is heard twice, or everything that was heard is heard again", () => {
    fc.assert(
      fc.property(anyFeed, (feed) => {
        const doubled = feed.flatMap(([after, report]): typeof feed => [
          [after, report],
          [0, report],
        ]);
        const told = tell(feed);
        expect(tell(doubled)).toEqual(told);
        const again = feed.map(([, report]): (typeof feed)[number] => [0, report]);
        const isEnded = told.latest.state === "merged";
        const counts = (all: TurnPullRequest) =>
          all.news.flatMap(({ kind }) => (kind === "waiting" ? [] : [kind]));
        if (isEnded) expect(tell([...feed, ...again])).toEqual(told);
        else expect(counts(tell([...feed, ...again, ...again]))).toEqual(counts(tell([...feed, ...again])));
      }),
    );
  });

  it("nothing is left out: who merges at last is told so, and each review before it", () => {
    fc.assert(
      fc.property(anyFeed, (feed) => {
        const before = feed.filter(([, { state }]) => state !== "merged");
        const last: [number, Partial<KnownPullRequest>] = [1, { state: "merged", reviews: [review("5")] }];
        const all = kinds([...before, last]);
        expect(all.at(-1)).toBe("merged");
        const seen = new Set(
          [...before, last].flatMap(([, { reviews = [] }]) => reviews.map(({ id }) => id)),
        );
        seen.delete("4");
        for (const id of seen) expect(all.join(" ")).toContain(id);
      }),
    );
  });

  it("cost nothing where nothing changed", () => {
    const said = makeFollowed({ ...FAILED, reviews: [review("1")] });
    const known = tell([[0, said]]);
    expect(withPullRequest(known, said, { url: URL, linkedAt: LINKED, now: LINKED + MINUTE })).toBe(known);
  });

  it("put reviews within a minute together, unless something else has to be told after them", () => {
    const reviews = [review("1"), review("2")];
    const one = { reviews: reviews.slice(0, 1) };
    expect(
      kinds([
        [0, one],
        [GROUP_MS - 1, { reviews }],
      ]),
    ).toEqual(["changes-requested 1,2"]);
    expect(
      kinds([
        [0, one],
        [GROUP_MS, { reviews }],
      ]),
    ).toEqual(["changes-requested 1", "changes-requested 2"]);
    expect(
      kinds([
        [0, one],
        [1000, { ...one, ...FAILED }],
        [1000, { reviews, ...FAILED }],
      ]),
    ).toEqual(["changes-requested 1", "checks-failed", "changes-requested 2"]);
  });

  it("are shown alone where the app first hears of them long after the link, as after an upgrade", () => {
    const late: Parameters<typeof tell>[0] = [[4 * DAY, { ...FAILED, reviews: [review("1")] }]];
    const { news, latest } = tell(late);
    expect(news.every(({ isTold }) => isTold)).toBe(true);
    expect(JSON.stringify(news)).not.toContain("words 1");
    expect(latest.checks).toEqual(FAILED.checks);
    expect(nextNews(tell([[80 * DAY, { state: "merged" }]]))).toBeUndefined();
    // What happens from then on is told.
    expect(nextNews(tell([...late, [MINUTE, { state: "merged" }]]))).toMatchObject({ kind: "merged" });
    expect(nextNews(tell([[2 * DAY, { state: "merged" }]]))).toMatchObject({ kind: "merged" });
  });

  it("leave out what happened before the link", () => {
    const old = review("1", { at: LINKED - DAY });
    expect(kinds([[0, { state: "merged", reviews: [old, review("2", { at: LINKED + 1 })] }]])).toEqual([
      "changes-requested 2",
      "merged",
    ]);
  });

  it("tell of failed checks once for each commit and set of names", () => {
    const failed = (headSha: string, ...names: string[]): [number, Partial<KnownPullRequest>] => [
      1,
      { headSha, checks: { state: "failed", failed: names } },
    ];
    const passed: [number, Partial<KnownPullRequest>] = [1, { checks: { state: "passed", failed: [] } }];
    expect(kinds([failed("a", "links", "build"), passed, failed("a", "build", "links")])).toHaveLength(1);
    expect(kinds([failed("a", "links", "build"), failed("a", "links")])).toHaveLength(1);
    expect(kinds([failed("a", "links"), failed("a", "links", "build")])).toHaveLength(2);
    expect(kinds([failed("a", "links"), failed("b", "links"), failed("a", "links")])).toHaveLength(2);
    expect(kinds([[0, { ...FAILED, state: "closed" }]])).toEqual(["closed"]);
  });

  it("closed twice is told once, and merged after all is told", () => {
    expect(
      kinds([
        [1, { state: "closed" }],
        [1, {}],
        [1, { state: "closed" }],
        [1, { state: "merged" }],
      ]),
    ).toEqual(["closed", "merged"]);
    expect(
      kinds([
        [1, { state: "merged" }],
        [1, {}],
        [1, { state: "closed" }],
      ]),
    ).toEqual(["merged"]);
  });

  it("say once that it waits for a review, after three working days", () => {
    const waits: [number, Partial<KnownPullRequest>][] = [
      [0, {}],
      [3 * DAY - 1, {}],
    ];
    expect(kinds(waits)).toEqual([]);
    expect(kinds([...waits, [1, {}], [DAY, {}]])).toEqual(["waiting"]);
    // Three days from Thursday: Tuesday.
    const friday = MONDAY + 4 * DAY;
    expect(workingMs(friday, friday + 3 * DAY)).toBe(DAY);
    expect(workingMs(MONDAY + 5 * DAY, MONDAY + 6 * DAY)).toBe(0);
    for (const other of [
      { isDraft: true },
      { review: "approved" as const },
      { review: "changes-requested" as const },
      FAILED,
    ]) {
      const count = kinds([
        [0, {}],
        [2 * DAY, other],
        [9 * DAY, other],
      ]).filter((kind) => kind === "waiting");
      expect(count).toEqual([]);
    }
    // It waits anew from when it is ready.
    expect(
      kinds([
        [0, { isDraft: true }],
        [9 * DAY, {}],
      ]),
    ).toEqual([]);
  });

  it("stay small, whatever the code host sends", () => {
    const huge = "\u202E<!channel> `x` ".repeat(4_000);
    const reviews = Array.from({ length: 20 }, (_, n) =>
      review(`${n} ${huge}`, {
        author: huge,
        words: huge,
        comments: Array.from({ length: 5 }, () => ({ path: huge, line: 1, words: huge })),
      }),
    );
    const reasons = Array.from({ length: 5 }, () => ({ name: huge, words: huge, url: huge }));
    const names = Array.from({ length: 20 }, (_, n) => `${n}${huge}`);
    const reports = Array.from({ length: 60 }, (_, n): [number, Partial<KnownPullRequest>] => [
      GROUP_MS,
      {
        title: huge,
        headSha: `${n}`,
        checks: { state: "failed", failed: names, reasons },
        waitingFor: names,
        reviews: reviews.map((each) => ({ ...each, id: `${n} ${each.id}` })),
      },
    ]);
    let known = tell(reports);
    known = tell([...reports, [1, { state: "merged" }]]);
    expect(known.news.at(-1)?.kind).toBe("merged");
    expect(known.news).toHaveLength(51);
    expect(JSON.stringify(known)).not.toContain("\u202E");
    expect(JSON.stringify(known).length).toBeLessThan(550_000);
    for (let news = nextNews(known); news !== undefined; news = nextNews(known))
      known = withTold(known, news.id);
    expect(JSON.stringify(known).length).toBeLessThan(150_000);
  });

  it("waits for changes that were requested on the newest commit, also if an older one is reviewed later", () => {
    const reviews = [review("1", { headSha: "b" }), review("2", { headSha: "a" })];
    const requested = tell([[0, { headSha: "b", review: "changes-requested", reviews }]]);
    expect(openStateOf(requested)).toBe("changes-requested");
  });

  it("is followed for 90 days, after it is closed for 14, and not once it is merged", () => {
    expect(followedUntil(tell([[0, { openedAt: LINKED - DAY }]]))).toBe(LINKED + 89 * DAY);
    expect(followedUntil(tell([[0, { openedAt: null }]]))).toBe(LINKED + 90 * DAY);
    expect(followedUntil(tell([[0, { isVisible: false }]]))).toBe(LINKED + 90 * DAY);
    expect(followedUntil(tell([[DAY, { state: "closed" }]]))).toBe(LINKED + 15 * DAY);
    expect(followedUntil(tell([[0, { state: "merged" }]]))).toBeNull();
  });
});

it("a turn is kept while its pull request is followed, and then as long as any", () => {
  const policy = { minMs: 1, maxMs: 1, deadlineMs: DAY };
  const stage = { name: "ended", outcome: makeOutcome({ kind: "pull-request" }), at: LINKED } as const;
  const keptUntil = (now: number, pullRequest?: TurnPullRequest) =>
    now + keepTurnMs(makeTurn({ stage, ...(pullRequest && { pullRequest }) }), now, policy, 7 * DAY);
  expect(keptUntil(LINKED)).toBe(LINKED + 7 * DAY);
  expect(keptUntil(LINKED + DAY, tell([[0, {}]]))).toBe(LINKED + 97 * DAY);
  const merged = tell([
    [0, {}],
    [30 * DAY, { state: "merged" }],
  ]);
  expect(keptUntil(LINKED + 30 * DAY, merged)).toBe(LINKED + 37 * DAY);
});

describe("how a pull request stands", () => {
  it("is what matters most of it", () => {
    const all = { ...FAILED, review: "changes-requested" as const, isDraft: true };
    expect(
      [
        { ...all, state: "merged" as const },
        { ...all, isVisible: false },
        all,
        { ...all, checks: { state: "unknown" as const, failed: [] } },
        { isDraft: true, review: "approved" as const },
        { review: "approved" as const },
        {},
      ].map((report) => openStateOf(tell([[0, report]]))),
    ).toEqual([null, null, "checks-failed", "changes-requested", "draft", "approved", "waiting"]);
  });

  it("waits for a review again once it has changed since changes were requested", () => {
    const asked = { review: "changes-requested" as const, reviews: [review("1")], headSha: "a" };
    const again = { ...asked, reviews: [review("1"), review("2")], headSha: "b" };
    const states = (reports: Partial<KnownPullRequest>[]) =>
      openStateOf(tell(reports.map((report) => [DAY, report])));
    expect(states([asked, asked])).toBe("changes-requested");
    expect(states([asked, { ...asked, headSha: "b" }])).toBe("waiting");
    expect(states([asked, { ...asked, headSha: "b" }, again])).toBe("changes-requested");
    expect(states([asked, { ...asked, headSha: "b" }, { ...again, headSha: "c" }])).toBe("changes-requested");
    expect(states([asked, { ...asked, headSha: "b" }, again, { ...again, headSha: "c" }])).toBe("waiting");
    expect(states([{ ...asked, headSha: null }, asked])).toBe("changes-requested");
    expect(
      kinds([
        [0, asked],
        [1, { ...asked, headSha: "b" }],
        [4 * DAY, { ...asked, headSha: "b" }],
      ]),
    ).toEqual(["changes-requested 1", "waiting"]);
  });
});
