import type {
  Message,
  Notifier,
  NotifierAnswer,
  NotifierFault,
  Posted,
  PostLabel,
} from "../../../src/app/rules/ports/notifier.ts";
import type { JobService, JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import type { NewTask, Task, TaskEnd } from "../../../src/shared/queue/task-queue.ts";
import type { Step, TaskRun } from "../../../src/app/rules/records.ts";
import type { Place } from "../../../src/app/rules/turn/request.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import { SqliteTaskQueue } from "../../../src/shared/queue/sqlite/sqlite-task-queue.ts";
import { openSqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import type { SqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import type { TaskDeps } from "../../../src/app/rules/ports/deps.ts";
import { makeJob } from "../../support/builders.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

/** How one call of a {@link ScriptedSlack} goes wrong: after it had its effect, or instead. */
export type SlackFault = { fault: NotifierFault; hadEffect?: boolean };

type Post = { place: Place; label: PostLabel; message: Message; ts: string; visibleAt: number };

/**
 * Slack as the notifier's port shows it, in memory: it keeps what is posted, shows it to those who look only `lagMs` later, and fails
 * when it is told to. What a real notifier makes of a real Slack is tested in `test/replies`.
 */
export class ScriptedSlack implements Notifier {
  readonly posts: Post[] = [];
  readonly toldPrivately: Message[] = [];
  /** Each call of that name takes the next one. Null means that this call works. */
  readonly faults: Partial<Record<keyof Notifier, Array<SlackFault | null>>> = {};
  lagMs = 0;
  looks = 0;
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  async post(place: Place, message: Message, label: PostLabel): Promise<NotifierAnswer<Posted>> {
    const ts = `${this.posts.length + 1}.000100`;
    return this.#answer("post", { channelId: place.channelId, ts }, () => {
      this.posts.push({ place, label, message, ts, visibleAt: this.#clock.now() + this.lagMs });
    });
  }

  async find(place: Place, label: PostLabel) {
    this.looks += 1;
    const found = this.posts.find(
      (post) =>
        post.visibleAt <= this.#clock.now() &&
        post.place.channelId === place.channelId &&
        post.label.turnId === label.turnId &&
        post.label.post === label.post,
    );
    return this.#answer("find", { ts: found?.ts ?? null, next: null });
  }

  async isEmpty() {
    return this.#answer("isEmpty", true);
  }

  async update() {
    return this.#answer("update", null);
  }

  async remove() {
    return this.#answer("remove", null);
  }

  async react() {
    return this.#answer("react", null);
  }

  async replyPrivately(_to: object, message: Message) {
    return this.#answer("replyPrivately", null, () => this.toldPrivately.push(message));
  }

  async sendFile() {
    return this.#answer("sendFile", null);
  }

  async publishHome() {
    return this.#answer("publishHome", null);
  }

  async openDirectMessage() {
    return this.#answer("openDirectMessage", { channelId: "D1" });
  }

  slackTimeMs(): number {
    return this.#clock.now();
  }

  #answer<T>(call: keyof Notifier, value: T, effect: () => void = () => {}): NotifierAnswer<T> {
    const planned = this.faults[call]?.shift() ?? null;
    if (planned === null || planned.hadEffect === true) effect();
    return planned === null ? { ok: true, value } : { ok: false, fault: planned.fault };
  }
}

export const notSent: SlackFault = { fault: { kind: "not-sent", error: "ratelimited" } };
export const lost: SlackFault = { fault: { kind: "unknown", error: "timeout" } };
export const lostAfterEffect: SlackFault = { ...lost, hadEffect: true };
export const refused: SlackFault = { fault: { kind: "place", error: "is_archived" } };

export const RETENTION_MS = 90 * 24 * 60 * 60_000;

/** The store and queue of a real app in memory, whose tasks a test runs one by one. */
export class TaskRig implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly slack: ScriptedSlack;
  readonly logger = new RecordingLogger();
  readonly store: SqliteStore<AppRecords>;
  readonly queue: SqliteTaskQueue<AppRecords>;
  /** As the queue gives it to a handler. */
  readonly run: TaskRun = {
    signal: new AbortController().signal,
    commit: (decide) => this.queue.commit(decide),
    assertHeld: () => {},
  };
  readonly deps: TaskDeps;
  /** What the job service answers, one call after the other; the last one again and again. */
  readonly answers: JobServiceAnswer[] = [{ ok: true, honorsIdempotencyKeys: false, job: makeJob() }];
  /** Prompts of the creates that arrived. */
  readonly creates: string[] = [];
  gets = 0;
  /** Added by the steps that were carried out. */
  readonly added: NewTask[] = [];

  static async open(): Promise<TaskRig> {
    const clock = new ManualClock();
    const logger = new RecordingLogger();
    return new TaskRig(
      clock,
      await openSqliteStore<AppRecords>({ schemas: recordSchemas, url: "memory://", clock, logger }),
    );
  }

  private constructor(clock: ManualClock, store: SqliteStore<AppRecords>) {
    this.clock = clock;
    this.store = store;
    this.slack = new ScriptedSlack(clock);
    this.queue = new SqliteTaskQueue<AppRecords>({
      store,
      clock,
      logger: this.logger,
      pools: { of: () => "all", budgets: { all: 16 } },
    });
    const jobService: JobService = {
      createJob: async (prompt) => {
        this.creates.push(prompt);
        return this.#nextAnswer();
      },
      getJob: async (jobId) => {
        // Asked for only to learn what the service speaks.
        if (jobId === "capabilities") {
          return {
            ok: false,
            honorsIdempotencyKeys: false,
            fault: { kind: "missing", message: "no such job" },
          };
        }
        this.gets += 1;
        return this.#nextAnswer();
      },
      sendMessage: async () => this.#nextAnswer(),
      ask: async () => this.#nextAnswer(),
      act: async () => this.#nextAnswer(),
      cancelTurn: async () => this.#nextAnswer(),
      answerQuestion: async () => this.#nextAnswer(),
      closePullRequest: async () => this.#nextAnswer(),
      changes: async () => ({
        ok: false,
        honorsIdempotencyKeys: false,
        fault: { kind: "missing", message: "no feed" },
      }),
      readDiff: async () => ({ ok: false, fault: { kind: "missing", message: "no diff" } }),
    };
    this.deps = {
      clock,
      random: () => 0.5,
      logger: this.logger,
      measure: () => {},
      firstTries: { note: () => {} },
      commit: this.run.commit,
      assertHeld: this.run.assertHeld,
      stopping: new AbortController().signal,
      rateLimiter: store.rateLimiter,
      series: store.series,
      records: store.records,
      notifier: this.slack,
      workStatus: {
        wayIn: () => "indicator",
        setSession: async () => ({ ok: true, value: null }),
        show: () => {},
      },
      directory: {
        admission: async () => "admitted",
        personName: async () => null,
        isPublic: async () => false,
        channelName: async () => null,
        groupMembers: () => Promise.resolve(null),
        groupName: async () => null,
        permalink: async () => null,
        threadUrl: () => null,
        appId: () => null,
      },
      fileReader: { lookUp: async (file) => ({ file, isFinal: true }), read: async () => "never" },
      messageReader: { read: async () => ({ ok: true, value: {} }) },
      threadReader: {
        read: async () => ({ ok: false, fault: { kind: "credentials", error: "missing_scope" } }),
      },
      refusalOf: async () => null,
      memberships: { channelsOf: async () => ({ channels: new Set(), isComplete: true }) },
      contacts: { last: () => [] },
      jobServices: { of: ({ name, service }) => ({ name, service, jobService }) },
      polling: { minMs: 5000, maxMs: 60_000, deadlineMs: 24 * 60 * 60_000 },
      retentionMs: RETENTION_MS,
    };
  }

  /** A task as the queue gives it to a handler for the first time. */
  task(task: NewTask, overrides: Partial<Task> = {}): Task {
    const { id, type, payload } = task;
    return {
      id,
      type,
      payload,
      attempt: 1,
      unexpectedFailures: 0,
      deaths: 0,
      addedAt: this.clock.now(),
      ...overrides,
    };
  }

  async save(turn: Turn): Promise<void> {
    await this.store.recordsOf("turn").set(turn.id, turn);
  }

  async saved(turn: Turn): Promise<Turn> {
    const saved = await this.store.records.get("turn", turn.id);
    if (saved === undefined) throw new Error(`no turn ${turn.id}`);
    return saved;
  }

  /** Carries a step out as the queue does. */
  async carryOut(step: Step): Promise<TaskEnd> {
    if (typeof step !== "function") return step;
    return this.queue.commit((read) => {
      const plan = step(read);
      this.added.push(...(plan.adds ?? []));
      return { ...plan, adds: [] };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue.stop(0);
    await this.store.close();
  }

  #nextAnswer(): JobServiceAnswer {
    const [next] = this.answers;
    if (next === undefined) throw new Error("the job service has no answer");
    if (this.answers.length > 1) this.answers.shift();
    return next;
  }
}
