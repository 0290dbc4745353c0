import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { jobKey } from "../core/project.ts";
import { Request } from "../core/request.ts";
import { canKeepWatching, newTurn, resumeTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { FRESH_POLL_STATE } from "../core/watching.ts";
import { RequestV1, parsedJson } from "./upgrade-records-from-1.ts";
import type { RecordUpgrade, UpgradeOptions } from "./upgrade-records-from-1.ts";

const TaskRow = z.object({ seq: z.int(), id: z.string(), type: z.string(), payload: z.string() });

/** Upgrades the first version's waiting tasks, and changes the turns in `records` to match. */
export class TaskUpgrade {
  readonly #db: DatabaseSync;
  readonly #records: RecordUpgrade;
  readonly #now: number;
  readonly #retentionMs: number;

  constructor(db: DatabaseSync, records: RecordUpgrade, { now, retentionMs }: UpgradeOptions) {
    this.#db = db;
    this.#records = records;
    this.#now = now;
    this.#retentionMs = retentionMs;
  }

  run(): void {
    // Ids of answers to mentions stay known under their new names.
    this.#db.exec(
      "UPDATE tasks SET id = 'reply:' || substr(id, 9), type = 'reply' WHERE id LIKE 'whisper:%'",
    );
    const rows = z
      .array(TaskRow)
      .parse(
        this.#db
          .prepare("SELECT seq, id, type, payload FROM tasks WHERE state = 'waiting' AND payload IS NOT NULL")
          .all(),
      );
    for (const row of rows) this.#task(row);
  }

  #task({ seq, id, type, payload }: z.infer<typeof TaskRow>): void {
    const said: unknown = parsedJson(payload);
    switch (type) {
      case "open":
        this.#open(seq, said);
        return;
      case "submit":
      case "deliver":
        this.#change(seq, { known: "pending" });
        return;
      case "poll":
        this.#poll(seq, said);
        return;
      case "refresh":
        this.#drop(seq);
        this.#refresh(turnIdOf(said));
        return;
      case "resume":
        this.#resume(seq, said);
        return;
      case "forget":
      case "remove":
        this.#drop(seq);
        return;
      case "reply": {
        // reply:mention:<team>:<channel>:<ts>
        const teamId = id.split(":")[2] ?? "";
        this.#change(seq, { payload: JSON.stringify({ ...objectOf(said), teamId }) });
        return;
      }
      case "tell": {
        const delivery = this.#records.deliveries.get(id);
        if (delivery !== undefined) {
          const until = this.#now + this.#retentionMs;
          this.#records.put("notice", id, { version: 1, delivery }, until);
        }
        return;
      }
    }
  }

  /** The first version made the turn only after its first post, and sent the create request only after that. */
  #open(seq: number, payload: unknown): void {
    const old = z.object({ request: RequestV1 }).safeParse(payload);
    const request = Request.safeParse(old.success ? this.#records.requestOf(old.data.request) : null);
    if (!request.success) return;
    const fresh = newTurn(request.data);
    const turn = this.#records.turns.get(fresh.id) ?? {
      ...fresh,
      delivery: this.#records.deliveries.get(fresh.id) ?? fresh.delivery,
    };
    this.#records.turns.set(turn.id, turn);
    this.#change(seq, { known: "pending", payload: JSON.stringify(payloadOf(turn)) });
    this.#add(`submit:${turn.id}`, "submit", "pending", payloadOf(turn));
  }

  #poll(seq: number, payload: unknown): void {
    const turn = this.#records.turns.get(turnIdOf(payload) ?? "");
    const { state = FRESH_POLL_STATE } = objectOf(payload);
    const key = turn === undefined || turn.job === null ? null : jobKey(turn.request.project, turn.job.id);
    // Without a turn the key is empty. The task then finds no job, and tells the person it names.
    const changed = { ...objectOf(payload), jobKey: key ?? "", state };
    if (key !== null) {
      this.#db.prepare("UPDATE OR IGNORE tasks SET id = ? WHERE seq = ?").run(`watch:${key}`, seq);
    }
    this.#change(seq, { type: "watch", known: "latest", payload: JSON.stringify(changed) });
  }

  /** Somebody pressed **Keep watching**. */
  #resume(seq: number, payload: unknown): void {
    this.#drop(seq);
    const turn = this.#records.turns.get(turnIdOf(payload) ?? "");
    if (turn === undefined || turn.job === null) return;
    const isDone = objectOf(payload)["watch"] === turn.watch;
    if (!isDone && !canKeepWatching(turn)) return;
    const resumed = isDone ? turn : resumeTurn(turn, this.#now);
    this.#records.turns.set(turn.id, resumed);
    const key = jobKey(turn.request.project, turn.job.id);
    this.#add(`watch:${key}`, "watch", "latest", {
      ...payloadOf(resumed),
      jobKey: key,
      state: FRESH_POLL_STATE,
    });
    this.#refresh(turn.id);
  }

  #refresh(turnId: string | undefined): void {
    const turn = this.#records.turns.get(turnId ?? "");
    if (turn !== undefined) this.#add(`refresh:${turn.id}`, "refresh", "latest", payloadOf(turn));
  }

  #add(id: string, type: string, known: string, payload: object): void {
    const now = this.#now;
    this.#db
      .prepare(
        `INSERT OR IGNORE INTO tasks (id, type, pool, known, payload, state, due_at, added_at)
          VALUES (?, ?, '', ?, ?, 'waiting', ?, ?)`,
      )
      .run(id, type, known, JSON.stringify(payload), now, now);
  }

  #change(seq: number, to: { type?: string; known?: string; payload?: string }): void {
    this.#db
      .prepare(
        `UPDATE tasks SET type = coalesce(?, type), known = coalesce(?, known), payload = coalesce(?, payload)
          WHERE seq = ?`,
      )
      .run(to.type ?? null, to.known ?? null, to.payload ?? null, seq);
  }

  #drop(seq: number): void {
    this.#db.prepare("DELETE FROM tasks WHERE seq = ?").run(seq);
  }
}

/** As in `tasks/payload.ts`. */
function payloadOf({ id, job, request, delivery }: Turn): object {
  const { teamId, userId, channelId, responseUrl } = request;
  return {
    turnId: id,
    thread: delivery.threadTs === null ? null : `${delivery.channelId}:${delivery.threadTs}`,
    jobId: job?.id ?? null,
    whose: { teamId, userId, channelId, responseUrl },
  };
}

function turnIdOf(payload: unknown): string | undefined {
  return z.object({ turnId: z.string() }).safeParse(payload).data?.turnId;
}

function objectOf(value: unknown): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).safeParse(value).data ?? {};
}
