import type { Message, MessageOf } from "../src/core/ports/notifier.ts";
import type { ListedTurn } from "../src/core/turn/request-list.ts";
import { LONG, NOON, makeUpJob, makeUpOutcome, makeUpRequest, makeUpTold, makeUpTurn } from "./made-up.ts";

type Of<K extends Message["kind"]> = [string, MessageOf<K>][];

const url = "https://tidepool.slack.com/archives/C0DOCS/p1700000000000100";
const { project } = makeUpRequest();
const failed = makeUpOutcome({ kind: "failed", job: makeUpJob({ prLink: null }) });
const ready = makeUpOutcome({ kind: "pull-request", told: makeUpTold() });
const atWork: ListedTurn = {
  turn: makeUpTurn({ name: "watching", since: NOON, troubleSince: null }),
  url,
};
const done: ListedTurn = { turn: makeUpTurn({ name: "ended", outcome: ready, at: NOON }), url };
const long: ListedTurn = {
  turn: makeUpTurn({ name: "ended", outcome: ready, at: NOON }, { instructions: LONG }),
  url: null,
};
const all = { kind: "list", from: 0, hasOlder: false, isPartial: false, isHiding: false } as const;

/** Lists of requests. */
export const listSamples: Of<"list"> = [
  ["none", { ...all, of: "person", turns: [] }],
  ["none in the channel", { ...all, of: "channel", turns: [] }],
  ["a person's", { ...all, of: "person", turns: [atWork, done] }],
  ["a channel's", { ...all, of: "channel", turns: [atWork, done], isHiding: true }],
  [
    "longest",
    {
      ...all,
      of: "channel",
      turns: Array.from({ length: 10 }, () => long),
      from: 10,
      hasOlder: true,
      isPartial: true,
    },
  ],
];

const quiet = {
  kind: "standing",
  own: null,
  channel: null,
  contacts: [],
  trouble: null,
  isPartial: false,
} as const;

/** How things stand. */
export const standingSamples: Of<"standing"> = [
  ["nothing", quiet],
  [
    "some",
    {
      ...quiet,
      own: { running: 1, waiting: 0 },
      channel: { running: 2, waiting: 1 },
      contacts: [{ project, isUp: true, at: NOON, since: NOON }],
    },
  ],
  [
    "trouble",
    {
      ...quiet,
      own: { running: 0, waiting: 2 },
      contacts: [{ project, isUp: false, at: NOON, since: NOON }],
      trouble: { turn: makeUpTurn({ name: "ended", outcome: failed, at: NOON }), url, at: NOON },
      isPartial: true,
    },
  ],
];
