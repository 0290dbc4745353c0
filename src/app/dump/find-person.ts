import { z } from "zod";
import { jsonOf } from "../../shared/text/text.ts";
import { type JobOfPerson, jobKeyOf } from "../rules/forgotten/forget-job.ts";
import { goesWhole, type PartOf, partOf } from "../rules/forgotten/without-person.ts";
import { recordSchemas } from "../rules/records.ts";
import { turnPrLink, type Turn } from "../rules/turn/turn.ts";
import { type Kind, entryRecord } from "./entry-record.ts";
import type { Entry, Side } from "./transfer.ts";

/** Everything that a store has of a person. It holds ids, and no words. */
export type StoredOfPerson = {
  /** Jobs with a part of theirs. What was asked again comes before what was asked first. */
  jobs: JobOfPerson[];
  /** Ids of others' turns that only name them, or show a turn that goes. */
  named: string[];
  /** Ids of threads that they muted, and of notes of what was asked before. */
  threads: string[];
  asked: string[];
  /** Records that go whole, such as the draft of a form with their words. */
  goes: { kind: Kind; id: string }[];
  notices: string[];
  taskIds: string[];
  series: string[];
  setAside: string[];
  /** The turns that go. */
  goneIds: ReadonlySet<string>;
  /** The first turn that waits or runs in one of the jobs. */
  open: Turn | undefined;
  left: LeftOfPerson;
};

/** What there was of a person, and what stays elsewhere. */
export type LeftOfPerson = {
  /** The turns that they asked for, and others' turns with words of theirs. */
  turns: number;
  quotedIn: number;
  jobIds: Set<string>;
  /** The number of our posts in each thread in Slack, by `<channel>/p<ts>` as in a link. */
  posts: Map<string, number>;
  /** Pull requests and branches at the code host. */
  atHost: Set<string>;
};

/** What a task's payload says about whom and what it is for. */
const Owned = z.object({
  turnId: z.string().optional(),
  userId: z.string().optional(),
  whose: z.object({ userId: z.string() }).optional(),
  message: z.object({ requesterId: z.string().optional() }).optional(),
});

/** Finds everything of a person, in two passes over the store. */
export async function findPerson(source: Pick<Side, "entries">, userId: string): Promise<StoredOfPerson> {
  const first = await readParts(source, userId);
  return new Finder(userId, first).find(source);
}

type Parts = { parts: Map<string, PartOf>; goneAt: Map<string, number>; jobs: Set<string> };

/** What turns have of a person. A request of theirs that somebody tried again counts as theirs. */
async function readParts(source: Pick<Side, "entries">, userId: string): Promise<Parts> {
  const parts = new Map<string, PartOf>();
  const goneAt = new Map<string, number>();
  const jobOf = new Map<string, string | null>();
  const retries = new Map<string, { of: string; at: number }>();
  for await (const entry of source.entries()) {
    const turn = entryRecord("turn", entry);
    if (turn === undefined) continue;
    const { id, request } = turn;
    const part = names(entry, userId) ? partOf(turn, userId) : null;
    if (part !== null) parts.set(id, part);
    if (part === "asked") goneAt.set(id, request.receivedAt);
    if (request.retries !== undefined)
      retries.set(id, { of: request.retries.turnId, at: request.receivedAt });
    if (part !== null || request.retries !== undefined) jobOf.set(id, jobKeyOf(turn));
  }
  for (let before = -1; before !== goneAt.size;) {
    before = goneAt.size;
    for (const [id, { of, at }] of retries) if (goneAt.has(of)) goneAt.set(id, at);
  }
  for (const id of goneAt.keys()) parts.set(id, "asked");
  const theirs = [...parts].flatMap(([id, part]) => (part === "named" ? [] : (jobOf.get(id) ?? [])));
  return { parts, goneAt, jobs: new Set(theirs) };
}

/** The second pass. */
class Finder {
  readonly #userId: string;
  readonly #parts: Parts;
  readonly #jobs = new Map<string, JobOfPerson & { askedAt: number }>();
  readonly #threads: { id: string; turnIds: string[] }[] = [];
  readonly #tasks: { id: string; turnId: string | undefined }[] = [];
  readonly #notices: string[] = [];
  /** Follow-ups that wait for a turn and have no job yet. */
  readonly #waiting: Turn[] = [];
  readonly #found: StoredOfPerson;

  constructor(userId: string, parts: Parts) {
    this.#userId = userId;
    this.#parts = parts;
    const left = {
      turns: 0,
      quotedIn: 0,
      jobIds: new Set<string>(),
      posts: new Map(),
      atHost: new Set<string>(),
    };
    const lists = {
      jobs: [],
      named: [],
      threads: [],
      asked: [],
      goes: [],
      notices: [],
      taskIds: [],
      series: [],
      setAside: [],
    };
    this.#found = { ...lists, goneIds: new Set(parts.goneAt.keys()), open: undefined, left };
  }

  async find(source: Pick<Side, "entries">): Promise<StoredOfPerson> {
    for await (const entry of source.entries()) {
      if (entry.kind === "record") this.#seeRecord(entry);
      else if (entry.kind === "series") {
        if (entry.id.endsWith(`:${this.#userId}`)) this.#found.series.push(entry.id);
      } else this.#seeTask(entry);
    }
    return this.#whole();
  }

  #seeRecord(entry: Extract<Entry, { kind: "record" }>): void {
    const [kind, id] = split(entry.id);
    const turn = entryRecord("turn", entry);
    if (turn !== undefined) return this.#seeTurn(turn);
    const thread = entryRecord("thread", entry);
    if (thread !== undefined) {
      const { turnIds, muted = [] } = thread;
      const isTheirs = muted.includes(this.#userId);
      if (isTheirs || turnIds.some((each) => this.#hasPart(each))) this.#threads.push({ id, turnIds });
      if (isTheirs) this.#found.threads.push(id);
      return;
    }
    const asked = entryRecord("asked", entry);
    if (asked !== undefined) {
      const turnIds = [asked.turnId, ...(asked.earlier ?? [])];
      if (turnIds.some((each) => this.#parts.goneAt.has(each))) this.#found.asked.push(id);
      return;
    }
    if (kind === "notice") this.#notices.push(id);
    if (!names(entry, this.#userId)) return;
    if (kind === "set-aside") this.#found.setAside.push(id);
    else if (isKind(kind) && goesWhole((of) => entryRecord(of, entry), kind, id, this.#userId))
      this.#found.goes.push({ kind, id });
  }

  #seeTurn(turn: Turn): void {
    const { id, request, stage, delivery } = turn;
    const key = jobKeyOf(turn);
    const { goneAt, jobs, parts } = this.#parts;
    const goes = goneAt.has(id);
    const part = parts.get(id);
    const isOfJob = key !== null && jobs.has(key);
    if (goes || part === "wrote" || isOfJob) {
      const name = key ?? `turn ${id}`;
      const job = this.#jobs.get(name) ?? { key, turns: [], threadIds: [], taskIds: [], askedAt: Infinity };
      job.turns.push({ id, goes });
      job.askedAt = Math.min(job.askedAt, goneAt.get(id) ?? Infinity);
      this.#jobs.set(name, job);
      if (stage.name !== "ended") this.#found.open ??= turn;
      if (goes) this.#found.left.turns += 1;
      else if (part === "wrote") this.#found.left.quotedIn += 1;
      this.#seeLeft(turn);
      return;
    }
    if (stage.name !== "ended" && request.follows !== undefined) this.#waiting.push(turn);
    const shown = [delivery.statusOf ?? "", ...(delivery.alsoShows ?? [])];
    if (part === "named") this.#seePosts(turn);
    if (part === "named" || shown.some((each) => goneAt.has(each))) this.#found.named.push(id);
  }

  #seeLeft(turn: Turn): void {
    const { job, stage, pullRequest } = turn;
    const { jobIds, atHost } = this.#found.left;
    if (job !== null) jobIds.add(job.id);
    const branch = stage.name === "ended" ? stage.outcome.told?.branch : null;
    const page = turnPrLink(turn) ?? pullRequest?.url ?? (branch ? `branch ${branch}` : null);
    if (page !== null) atHost.add(page);
    this.#seePosts(turn);
  }

  #seePosts({ delivery: { slots, channelId, threadTs } }: Turn): void {
    const { posts } = this.#found.left;
    for (const post of Object.values(slots)) {
      if (post.ts === null) continue;
      const root = post.channelId === channelId ? (threadTs ?? post.ts) : post.ts;
      const thread = `${post.channelId}/p${root.replace(".", "")}`;
      posts.set(thread, (posts.get(thread) ?? 0) + 1);
    }
  }

  #seeTask(entry: Exclude<Entry, { kind: "record" | "series" }>): void {
    const isNamed = entry.id.split(":").includes(this.#userId);
    if (entry.kind === "done") {
      if (isNamed) this.#tasks.push({ id: entry.id, turnId: undefined });
      return;
    }
    const owned = [entry.payload, entry.nextPayload].map((text) => Owned.safeParse(jsonOf(text ?? "")).data);
    const turnId = owned.flatMap((each) => each?.turnId ?? []).find((each) => this.#parts.goneAt.has(each));
    const people = owned.flatMap((each) => [each?.userId, each?.whose?.userId, each?.message?.requesterId]);
    if (isNamed || turnId !== undefined || people.includes(this.#userId)) {
      this.#tasks.push({ id: entry.id, turnId });
    }
  }

  #whole(): StoredOfPerson {
    const found = this.#found;
    const jobs = [...this.#jobs.values()];
    const jobOfTurn = new Map(jobs.flatMap((job) => job.turns.map(({ id }) => [id, job] as const)));
    const jobOfWatch = new Map(jobs.map((job) => [`watch:${job.key}`, job]));
    for (const { id, turnIds } of this.#threads) {
      const of = new Set(turnIds.flatMap((each) => jobOfTurn.get(each) ?? []));
      for (const job of of) job.threadIds.push(id);
    }
    for (const { id, turnId } of this.#tasks) {
      const job = jobOfWatch.get(id) ?? jobOfTurn.get(turnId ?? "");
      if (job === undefined) found.taskIds.push(id);
      else job.taskIds.push(id);
    }
    const goneTasks = new Set(this.#tasks.map(({ id }) => id));
    const notices = this.#notices.filter((id) => goneTasks.has(id) || id.split(":").includes(this.#userId));
    found.notices.push(...notices);
    found.open ??= this.#waiting.find(({ request }) => jobOfTurn.has(request.follows?.turnId ?? ""));
    found.jobs = jobs.toSorted((one, other) => other.askedAt - one.askedAt || 0);
    return found;
  }

  #hasPart(turnId: string): boolean {
    const part = this.#parts.parts.get(turnId);
    return part === "asked" || part === "wrote";
  }
}

function split(key: string): [kind: string, id: string] {
  const at = key.indexOf(":");
  return [key.slice(0, at), key.slice(at + 1)];
}

function isKind(kind: string): kind is Kind {
  return kind in recordSchemas;
}

/** True if an entry has a person's id in its text. Most don't, and reading one takes a while. */
function names(entry: Entry, userId: string): boolean {
  return entry.kind === "record" && new RegExp(`\\b${userId}\\b`).test(`${entry.id} ${entry.text}`);
}
