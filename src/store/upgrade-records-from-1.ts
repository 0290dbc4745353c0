import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { newDelivery } from "../core/delivery.ts";
import type { Delivery } from "../core/delivery.ts";
import { jobKey } from "../core/project.ts";
import type { ProjectRef } from "../core/project.ts";
import { threadId } from "../core/records.ts";
import type { RecordKind, RecordOf } from "../core/records.ts";
import { Turn } from "../core/turn.ts";
import { serialize } from "./keyv.ts";

export type UpgradeOptions = {
  /** By the short names that the first version kept. The first one is the default. */
  projects: readonly ProjectRef[];
  /** How long the records of an ended turn are kept, milliseconds. */
  retentionMs: number;
  /** Epoch milliseconds. */
  now: number;
};

/** A request as the first version stored it, with its project's short name. */
export const RequestV1 = z.looseObject({ project: z.string() });
const PostsV1 = z.object({
  turnId: z.string(),
  place: z.object({ channelId: z.string(), threadTs: z.string().nullable() }),
  away: z.string().nullable(),
  slots: z.record(
    z.string(),
    z.object({ channelId: z.string(), ts: z.string().nullable(), intentAt: z.number().nullable() }),
  ),
  shown: z.string().nullable(),
});
const TurnV1 = z.looseObject({
  version: z.literal(1),
  id: z.string(),
  request: RequestV1,
  thread: z.object({ channelId: z.string(), ts: z.string() }),
});
const Entry = z.object({ key: z.string(), value: z.string() });
const Envelope = z.object({ value: z.unknown() });

/** Upgrades the first version's records: {@link read} them, change `turns` as the tasks require, then {@link write} them. */
export class RecordUpgrade {
  readonly turns = new Map<string, Turn>();
  /** By the id of the turn, or of the `tell` task. */
  readonly deliveries = new Map<string, Delivery>();
  readonly #db: DatabaseSync;
  readonly #options: UpgradeOptions;

  constructor(db: DatabaseSync, options: UpgradeOptions) {
    this.#db = db;
    this.#options = options;
  }

  read(): void {
    for (const { key, value } of this.#entries("posts:")) {
      const posts = PostsV1.safeParse(value);
      if (!posts.success) continue;
      this.deliveries.set(posts.data.turnId, deliveryOf(posts.data));
      this.#remove(key);
    }
    for (const { value } of this.#entries("turn:")) {
      const old = TurnV1.safeParse(value);
      if (!old.success) continue;
      const { thread, request, ...rest } = old.data;
      const turn = Turn.safeParse({
        ...rest,
        version: 2,
        request: this.requestOf(request),
        delivery:
          this.deliveries.get(old.data.id) ??
          newDelivery({ channelId: thread.channelId, threadTs: thread.ts }),
        pressed: {},
      });
      if (turn.success) this.turns.set(turn.data.id, turn.data);
    }
    // Both are written anew from the turns.
    for (const prefix of ["job:", "thread:"]) {
      for (const { key } of this.#entries(prefix)) this.#remove(key);
    }
    this.#db
      .prepare("UPDATE kv SET expires_at = ? WHERE key >= 'set-aside:' AND key < 'set-aside;'")
      .run(this.#options.now + this.#options.retentionMs);
  }

  /** Writes the turns, and the jobs and threads that they belong to. */
  write(): void {
    const jobs = new Map<string, RecordOf<"job">>();
    const threads = new Map<string, RecordOf<"thread">>();
    const keptUntil = new Map<string, number>();
    const { now, retentionMs } = this.#options;
    const keep = (key: string, until: number) => keptUntil.set(key, Math.max(until, keptUntil.get(key) ?? 0));
    for (const turn of [...this.turns.values()].toSorted(byAge)) {
      const { stage } = turn;
      this.put("turn", turn.id, turn, stage.name === "ended" ? stage.at + retentionMs : null);
      // The job and the thread of a turn that hasn't ended are written again when it does.
      const until = stage.name === "ended" ? stage.at + retentionMs : now + 2 * retentionMs;
      if (turn.job === null) continue;
      const { project, teamId } = turn.request;
      const { channelId, threadTs } = turn.delivery;
      const key = jobKey(project, turn.job.id);
      const thread = threadTs === null ? null : { teamId, channelId, ts: threadTs };
      jobs.set(key, {
        version: 2,
        id: turn.job.id,
        project,
        thread,
        turnIds: [...(jobs.get(key)?.turnIds ?? []), turn.id],
        createdAt: turn.request.receivedAt,
      });
      keep(key, until);
      if (thread === null) continue;
      const id = threadId(thread);
      keep(id, until);
      const jobKeys = [...(threads.get(id)?.jobKeys ?? []), key];
      threads.set(id, { version: 2, ...thread, jobKeys });
    }
    for (const [key, job] of jobs) this.put("job", key, job, keptUntil.get(key) ?? now);
    for (const [id, thread] of threads) this.put("thread", id, thread, keptUntil.get(id) ?? now);
  }

  /** A request of the first version with its project as it is known today, still to be parsed. */
  requestOf(request: z.infer<typeof RequestV1>): unknown {
    const { projects } = this.#options;
    const { project: name } = request;
    const known =
      projects.find((project) => project.name === name) ??
      // The only project was called this before projects had names.
      (name === "default" ? projects[0] : undefined);
    return { ...request, project: known ?? { service: "", id: "", name } };
  }

  /** `expiresAt`: epoch milliseconds; null: never. */
  put<K extends RecordKind>(kind: K, id: string, record: RecordOf<K>, expiresAt: number | null): void {
    this.#db
      .prepare("INSERT OR REPLACE INTO kv (key, value, expires_at) VALUES (?, ?, ?)")
      .run(`${kind}:${id}`, serialize({ value: record }), expiresAt);
  }

  #entries(prefix: string): { key: string; value: unknown }[] {
    return z
      .array(Entry)
      .parse(
        this.#db
          .prepare("SELECT key, value FROM kv WHERE key >= ? AND key < ?")
          .all(prefix, `${prefix.slice(0, -1)};`),
      )
      .map(({ key, value }) => {
        const envelope = Envelope.safeParse(parsedJson(value));
        return { key, value: envelope.success ? envelope.data.value : undefined };
      });
  }

  #remove(key: string): void {
    this.#db.prepare("DELETE FROM kv WHERE key = ?").run(key);
  }
}

function deliveryOf(posts: z.infer<typeof PostsV1>): Delivery {
  const slots = Object.entries(posts.slots).map(([name, { channelId, ts, intentAt }]) => [
    name,
    { channelId, ts, sentAtMs: intentAt ?? 0, looks: 0, cursor: null },
  ]);
  return { ...posts.place, away: posts.away, slots: Object.fromEntries(slots), shown: posts.shown };
}

function byAge(a: Turn, b: Turn): number {
  return a.request.receivedAt - b.request.receivedAt;
}

/** What JSON text says; undefined if it isn't JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
