import type { ContractJob, FullJob } from "../../src/shared/contract/job.ts";
import type { Attachment } from "../../src/shared/contract/attachment.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { AnswerRequest, type JobQuestion } from "../../src/shared/contract/question.ts";
import {
  ActRequest,
  type Authors,
  CreateJobRequest,
  type Requester,
} from "../../src/shared/contract/request.ts";
import { jsonOf } from "../../src/shared/text/text.ts";
import { faultAfter, faultBefore, FaultPlan } from "./faults.ts";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { TurnAct, JobTurn } from "../../src/shared/contract/turn.ts";
import { SideFeed } from "./side-feed.ts";
import { endJob, JobScript, newSideTurn, recordOf, type SideJob, type SideOutcome } from "./jobs.ts";
import {
  bearer,
  header,
  type JobServiceOp,
  readSideBody,
  routeOf,
  send,
  type SideReply,
  type SideRoute,
} from "./wire.ts";
import { type Level, LEVEL_HEADER, levelOfClient, saidByService } from "../../src/shared/contract/level.ts";

export const DEFAULT_PROJECT_ID = "docs";
export const DEFAULT_API_KEY = "mint_test-key-0123456789";

export type JobServiceSideOptions = {
  /** The key of the default project. @default DEFAULT_API_KEY */
  apiKey?: string;
  /** The projects, instead of the default one. */
  projects?: Record<string, { apiKey: string }>;
  /** The port. 0 is any free one. @default 0 */
  port?: number;
  /**
   * The level: the contract alone, or everything that our own service offers. At level 0 it refuses
   * the rest like a service that has never heard of it. @default 0
   */
  level?: Level;
  /**
   * True to honor `Idempotency-Key` at level 0, too, and to announce that. A call with a key that
   * was used before gets the first answer again. @default false
   */
  idempotencyKeys?: boolean;
  /**
   * The kind of feed. Answers wait for a change, or come at once. Without a feed, something in
   * front of the service refuses each request. @default none
   */
  changes?: "held" | "at-once";
  /** The clock by which an answer of the feed waits. @default the machine's */
  monotonicMs?: () => number;
  /** Epoch milliseconds for `createdAt` and `archivedAt`. @default Date.now */
  now?: () => number;
};

/**
 * A call as it arrived, whatever its answer was. `authorized` is true if its key is this project's.
 */
export type SideCall = {
  op: JobServiceOp;
  projectId: string;
  jobId: string | null;
  /** The turn to cancel. */
  turn?: number;
  prompt: string | null;
  /** The files that came with the prompt. */
  attachments: Attachment[];
  words: string | null;
  requester: Requester | null;
  authors: Authors | null;
  idempotencyKey: string | null;
  authorized: boolean;
  /** True if both sides speak level 1, so that jobs have all their fields. */
  isAtLevel1: boolean;
};
/** An answer that reached the agent. */
export type SideAnswer = { jobId: string; questionId: string; answer: string };
export type SideCreate = { projectId: string; jobId: string; prompt: string; idempotencyKey: string | null };
export type SideMessage = SideCreate;
export type SideAct = Omit<SideCreate, "prompt"> & { act: TurnAct };
export type SideGet = { projectId: string; jobId: string; record: Sent<typeof ContractJob> };
export type SideCallHook = (phase: "before" | "after", call: SideCall) => Promise<void> | void;

/** The header at level 0 if keys are honored. */
const KEYS_ONLY = { [LEVEL_HEADER]: "idempotency-key" };
/** The operations beyond the contract. */
const BEYOND: ReadonlySet<JobServiceOp> = new Set(["answer", "cancel", "diff", "close", "changes"]);

/** The level that an operation needs. */
function levelOf(op: JobServiceOp): Level {
  if (op === "ask") return 3;
  if (op === "address" || op === "update") return 2;
  return BEYOND.has(op) ? 1 : 0;
}

/**
 * Starts a job service on loopback that keeps the contract of `docs/job-service.md`, in memory and
 * with faults on demand.
 */
export async function startJobServiceSide(options: JobServiceSideOptions = {}): Promise<JobServiceSide> {
  const side = new JobServiceSide(options);
  await side.up();
  return side;
}

/** See {@link startJobServiceSide}. */
export class JobServiceSide implements AsyncDisposable {
  /** Every call that arrived, including those that were refused or met a fault. */
  readonly calls: SideCall[] = [];
  /** The creates that made a job, in order. */
  readonly creates: SideCreate[] = [];
  /** The messages that reached a job, in order. */
  readonly messages: SideMessage[] = [];
  /** The creates and messages that were sent as questions, and are in no other list, in order. */
  readonly asks: SideCreate[] = [];
  /** The turns without a prompt that a job was asked for, in order. */
  readonly acts: SideAct[] = [];
  /** The answers that were accepted, each once and in order. Each is a choice's id, or words. */
  readonly answers: SideAnswer[] = [];
  /** The turns that were canceled, as `job/number`, in order. */
  readonly cancels: string[] = [];
  /** The gets that were answered with a job. */
  readonly gets: SideGet[] = [];
  readonly jobs = new Map<string, SideJob>();
  /** The changes of jobs, by job id. Other jobs get 404. */
  readonly diffs = new Map<string, object>();
  /** The jobs whose pull request was closed by a call, in order. */
  readonly closed: string[] = [];
  /** The reason why pull requests can't be closed. Null if they can. */
  staysOpen: string | null = null;
  /** The reason why such turns are refused. Null if they aren't. */
  declines: string | null = null;
  readonly faults = new FaultPlan();
  /** Faults of gets that only ask what the service announces. */
  readonly faultsOfLooks = new FaultPlan();
  readonly script = new JobScript();
  /** The level that it speaks. Set it higher for a newer version. */
  level: Level;
  /** The feed, or null if there is none. */
  readonly feed: SideFeed | null;
  /** The number of connections that were accepted so far. */
  connections = 0;

  readonly #projects: Record<string, { apiKey: string }>;
  readonly #now: () => number;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #hookFaults: unknown[] = [];
  /** Answers by project and key. Null if keys aren't honored. */
  readonly #answered: Map<string, SideReply> | null;
  #port: number;
  #hook: SideCallHook | null = null;
  #jobsMade = 0;
  #questionsAsked = 0;

  constructor({
    apiKey = DEFAULT_API_KEY,
    projects,
    port = 0,
    level = 0,
    idempotencyKeys = level >= 1,
    changes,
    now = () => Date.now(),
    monotonicMs = () => performance.now(),
  }: JobServiceSideOptions) {
    this.#projects = projects ?? { [DEFAULT_PROJECT_ID]: { apiKey } };
    this.#port = port;
    this.#now = now;
    this.feed = changes === undefined ? null : new SideFeed(changes === "held", monotonicMs);
    this.level = level;
    this.#answered = idempotencyKeys ? new Map() : null;
    this.#server.on("connection", () => (this.connections += 1));
  }

  /** The headers in which it says what it speaks. */
  get #announced(): Record<string, string> {
    if (this.level > 0) return { [LEVEL_HEADER]: saidByService(this.level).join(", ") };
    return this.#answered === null ? {} : KEYS_ONLY;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Refuses connections from now on and cuts the open ones. */
  async down(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Listens again on the same port. It still knows everything that it knew. */
  async up(): Promise<void> {
    if (this.#server.listening) return;
    const listening = once(this.#server, "listening");
    this.#server.listen(this.#port, "127.0.0.1");
    await listening;
    const address = this.#server.address();
    if (address !== null && typeof address === "object") this.#port = address.port;
  }

  /** Begins a turn that nobody asked for. */
  beginUnasked(jobId: string, act: TurnAct): void {
    const job = this.#job(jobId);
    const turn = newSideTurn(job.turns.length + 1, this.#time(), act);
    job.turns.push({ ...turn, isUnasked: true, status: "running" });
    job.status = "active";
  }

  /** Ends the job's current turn. */
  finish(jobId: string, outcome: SideOutcome): void {
    endJob(this.#job(jobId), outcome, this.#time());
  }

  /** Sets the state of the job's current turn. It is running unless `turn` says otherwise. */
  tell(jobId: string, turn: Partial<Sent<typeof JobTurn>>): void {
    const current = this.#job(jobId).turns.at(-1);
    if (current !== undefined) Object.assign(current, { status: "running", ...turn });
  }

  /**
   * Sets the state of the job's pull request. It waits for a review unless `pullRequest` says
   * otherwise.
   */
  follow(jobId: string, pullRequest: Partial<Sent<typeof FollowedPullRequest>> = {}): void {
    const job = this.#job(jobId);
    job.pullRequest = {
      url: job.prLink ?? "",
      number: 7,
      title: "Correct the install command",
      state: "open",
      isDraft: false,
      review: "none",
      checks: { state: "passed", failed: [] },
      reviews: [],
      waitingFor: ["maria"],
      mergeable: null,
      blockedBy: null,
      headSha: "0123456789abcdef0123456789abcdef01234567",
      isVisible: true,
      openedAt: this.#time(),
      ...pullRequest,
    };
  }

  /** Makes the agent of the job's current turn ask a question. Returns the question's id. */
  ask(jobId: string, question: Partial<Sent<typeof JobQuestion>> = {}): string {
    const job = this.#job(jobId);
    this.#questionsAsked += 1;
    const id = question.id ?? `q-${this.#questionsAsked}`;
    this.tell(jobId, {});
    job.questions.push({
      turn: job.turns.length,
      text: "Which page?",
      choices: [
        { id: "1", label: "Install" },
        { id: "2", label: "FAQ" },
      ],
      allowsText: true,
      askedAt: this.#time(),
      answeredAt: null,
      ...question,
      id,
      answer: null,
    });
    return id;
  }

  /** Answers a question as if somebody had done so without this API. */
  answerElsewhere(jobId: string, questionId: string, answer: string): void {
    this.#answer(this.#job(jobId), questionId, answer);
  }

  /** Removes a question. The agent no longer waits for an answer. */
  closeQuestion(jobId: string, questionId: string): void {
    const job = this.#job(jobId);
    job.questions = job.questions.filter(({ id }) => id !== questionId);
  }

  /** Removes a job. It gets 404 from now on. */
  forget(jobId: string): void {
    this.#job(jobId);
    this.jobs.delete(jobId);
  }

  /**
   * Sets a hook that is awaited for every call: before its effect, and after the effect but before
   * the answer. If the hook throws, the disposal fails. It replaces the hook that was set before,
   * and null removes that.
   */
  onCall(hook: SideCallHook | null): void {
    this.#hook = hook;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    if (this.#hookFaults.length > 0) throw new AggregateError(this.#hookFaults, "a job service hook threw");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The caller may be killed at any point.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const body = await readSideBody(request);
    if (body === null) return;
    const route = routeOf(request);
    const headers = this.#announced;
    if (route === null || this.level < levelOf(route.op)) {
      return send(response, { status: 404, json: { error: "No such route" } }, headers);
    }
    if (route.op === "changes") return await this.#changes(route, request, response);
    // This request only asks what the service announces, so tests neither script nor count it.
    if (route.op === "get" && route.jobId === "capabilities") {
      const fault = this.faultsOfLooks.take("get");
      if (fault !== null && (await faultBefore(fault, response, {}))) return;
      return send(response, { status: 404, json: { error: "Job not found" } }, headers);
    }
    const call = this.#record(route, request, body);
    const fault = this.faults.take(call.op);
    await this.#callHook("before", call);
    if (fault !== null && (await faultBefore(fault, response, headers))) return;
    const reply =
      this.#authorize(call, request) ?? this.#once(call, () => this.#perform(call, request, body));
    await this.#callHook("after", call);
    if (fault !== null && faultAfter(fault, response, reply, headers)) return;
    send(response, reply, headers);
  }

  async #changes(route: SideRoute, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { feed } = this;
    const call = this.#record(route, request, "");
    const fault = this.faults.take("changes");
    await this.#callHook("before", call);
    if (fault !== null && (await faultBefore(fault, response, this.#announced))) return;
    const refused = this.#authorize(call, request);
    const none = { status: 404, json: { error: "No such route" } };
    if (feed === null || refused !== null) return send(response, refused ?? none, this.#announced);
    const query = new URL(request.url ?? "", "http://side").searchParams;
    const asked = { after: query.get("after"), wait: Number(query.get("wait") ?? 0) };
    const ofProject = () => [...this.jobs.values()].filter(({ projectId }) => projectId === route.projectId);
    for (const job of ofProject()) this.script.polled(job, this.#time());
    const jobs = () => ofProject().map((job) => recordOf(job, call));
    const reply = await feed.answer(asked, jobs, response);
    await this.#callHook("after", call);
    if (fault !== null && faultAfter(fault, response, reply, this.#announced)) return;
    if ((await feed.lie?.(asked, reply, response)) !== true) send(response, reply, this.#announced);
  }

  #record(route: SideRoute, request: IncomingMessage, body: string): SideCall {
    const isRead = this.level >= 1 && levelOfClient(header(request, LEVEL_HEADER.toLowerCase())) >= 1;
    const isPrompt = route.op === "create" || route.op === "message" || route.op === "ask";
    const asked = isPrompt ? CreateJobRequest.safeParse(jsonOf(body)).data : undefined;
    const people = isPrompt ? asked : ActRequest.safeParse(jsonOf(body)).data;
    const call: SideCall = {
      ...route,
      prompt: asked?.prompt ?? null,
      attachments: asked?.attachments ?? [],
      words: asked?.words ?? null,
      requester: people?.requester ?? null,
      authors: people?.authors ?? null,
      idempotencyKey: header(request, "idempotency-key"),
      isAtLevel1: isRead,
      authorized: bearer(request) !== null && bearer(request) === this.#projects[route.projectId]?.apiKey,
    };
    this.calls.push(call);
    return call;
  }

  #authorize(call: SideCall, request: IncomingMessage): SideReply | null {
    const key = bearer(request);
    const known = Object.values(this.#projects).some((project) => project.apiKey === key);
    if (key === null || !known) return { status: 401, json: { error: "Invalid API key" } };
    if (this.#projects[call.projectId] === undefined)
      return { status: 404, json: { error: "Project not found" } };
    if (!call.authorized) return { status: 403, json: { error: "This key is not for this project" } };
    return null;
  }

  #once(call: SideCall, perform: () => SideReply): SideReply {
    if (this.#answered === null || call.idempotencyKey === null) return perform();
    const key = `${call.projectId} ${call.idempotencyKey}`;
    const before = this.#answered.get(key);
    if (before !== undefined) return this.#repeated(before, call);
    const reply = perform();
    // A refusal doesn't use up the key.
    if (reply.status < 300) this.#answered.set(key, reply);
    return reply;
  }

  /**
   * Returns a repeated answer like our own service: the first answer, with its turns and questions
   * as they are now.
   */
  #repeated(first: SideReply, call: SideCall): SideReply {
    const record = first.json as Sent<typeof FullJob>;
    const job = this.jobs.get(record.id);
    if (job === undefined) return first;
    const { turns, questions } = recordOf(job, call);
    return {
      ...first,
      json: {
        ...record,
        ...(turns && { turns: turns.slice(0, record.turns?.length) }),
        ...(questions && { questions }),
      },
    };
  }

  #perform(call: SideCall, request: IncomingMessage, body: string): SideReply {
    if (call.op === "get") return this.#get(call);
    if (call.op === "diff") {
      const diff = this.diffs.get(call.jobId ?? "");
      return diff === undefined ? { status: 404, json: { error: "No change" } } : { status: 200, json: diff };
    }
    if (call.op === "cancel") return this.#cancel(call);
    if (call.op === "close") {
      if (this.staysOpen !== null) return { status: 409, json: { error: this.staysOpen } };
      const jobId = call.jobId ?? "";
      this.closed.push(jobId);
      this.follow(jobId, { state: "closed" });
      return { status: 200, json: recordOf(this.#job(jobId), call) };
    }
    if (!header(request, "content-type")?.startsWith("application/json")) {
      return { status: 400, json: { error: "Content-Type must be application/json" } };
    }
    if (jsonOf(body) === undefined) return { status: 400, json: { error: "The body is not JSON" } };
    if (call.op === "answer") return this.#takeAnswer(call, body);
    if (call.op === "address" || call.op === "update") return this.#act(call, call.op);
    if (call.prompt === null) return { status: 400, json: { error: "prompt must be a non-empty string" } };
    const { attachments, words, requester, authors } = call;
    const isBeyond = attachments.length > 0 || [words, requester, authors].some((field) => field !== null);
    if (isBeyond && this.level === 0) {
      return { status: 400, json: { error: "attachments, words, requester, authors: no such fields" } };
    }
    return call.jobId === null ? this.#create(call, call.prompt) : this.#message(call, call.prompt);
  }

  #create(call: SideCall, prompt: string): SideReply {
    const { projectId, idempotencyKey } = call;
    this.#jobsMade += 1;
    const job: SideJob = {
      id: `job_${this.#jobsMade}`,
      projectId,
      prompts: [prompt],
      status: "active",
      prLink: null,
      createdAt: this.#time(),
      archivedAt: null,
      pollsOfTurn: 0,
      staleReads: null,
      turns: [newSideTurn(1, this.#time(), call.op === "ask" ? "ask" : undefined)],
      questions: [],
      pullRequest: null,
    };
    this.jobs.set(job.id, job);
    this.script.created(job, this.#time());
    const into = call.op === "ask" ? this.asks : this.creates;
    into.push({ projectId, jobId: job.id, prompt, idempotencyKey });
    return { status: 201, json: recordOf(job, call) };
  }

  #get(call: SideCall): SideReply {
    const { projectId, jobId } = call;
    const job = this.#find(projectId, jobId);
    if (job === null) return { status: 404, json: { error: "Job not found" } };
    if (job.staleReads !== null && job.staleReads.left > 0) {
      job.staleReads.left -= 1;
      this.gets.push({ projectId, jobId: job.id, record: job.staleReads.record });
      return { status: 200, json: job.staleReads.record };
    }
    this.script.polled(job, this.#time());
    const record = recordOf(job, call);
    this.gets.push({ projectId, jobId: job.id, record });
    return { status: 200, json: record };
  }

  #message(call: SideCall, prompt: string): SideReply {
    const { projectId, jobId, idempotencyKey } = call;
    const job = this.#find(projectId, jobId);
    if (job === null) return { status: 404, json: { error: "Job not found" } };
    if (job.status === "archived") return { status: 400, json: { error: "The job is archived" } };
    const before = recordOf(job, call);
    job.prompts.push(prompt);
    this.#begin(job, before, call.op === "ask" ? "ask" : undefined);
    const into = call.op === "ask" ? this.asks : this.messages;
    into.push({ projectId, jobId: job.id, prompt, idempotencyKey });
    return { status: 200, json: recordOf(job, call) };
  }

  #act(call: SideCall, act: TurnAct): SideReply {
    const { projectId, jobId, idempotencyKey } = call;
    const job = this.#find(projectId, jobId);
    if (job === null || job.pullRequest === null) return { status: 404, json: { error: "No pull request" } };
    if (this.declines !== null) return { status: 409, json: { error: this.declines } };
    this.#begin(job, recordOf(job, call), act);
    this.acts.push({ projectId, jobId: job.id, act, idempotencyKey });
    return { status: 200, json: recordOf(job, call) };
  }

  /** Begins the job's next turn. `before` is the job's record until now. */
  #begin(job: SideJob, before: Sent<typeof ContractJob>, kind?: TurnAct | "ask"): void {
    job.turns.push(newSideTurn(job.turns.length + 1, this.#time(), kind));
    job.status = "active";
    job.pollsOfTurn = 0;
    this.script.messaged(job, before, this.#time());
  }

  /**
   * Takes an answer like our own service. The same answer may come again, another one is refused,
   * and a question that is over is unknown.
   */
  #takeAnswer(call: SideCall, body: string): SideReply {
    const parsed = AnswerRequest.safeParse(jsonOf(body));
    if (!parsed.success) return { status: 400, json: { error: "put questionId and choice, or text" } };
    const job = this.#find(call.projectId, call.jobId);
    const question = job?.questions.find(({ id }) => id === parsed.data.questionId);
    if (job === null || question === undefined) return { status: 404, json: { error: "No such question" } };
    const { data } = parsed;
    const isOffered =
      "text" in data ? question.allowsText : question.choices.some(({ id }) => id === data.choice);
    if (!isOffered) return { status: 400, json: { error: "That is no answer to this question" } };
    const answer = "text" in data ? data.text : data.choice;
    if (question.answer !== null && question.answer !== answer) {
      return { status: 409, json: { error: "The question is answered" } };
    }
    if (question.answer === null) {
      this.#answer(job, question.id, answer);
      this.answers.push({ jobId: job.id, questionId: question.id, answer });
    }
    return { status: 200, json: recordOf(job, call) };
  }

  #answer(job: SideJob, questionId: string, answer: string): void {
    const question = job.questions.find(({ id }) => id === questionId);
    if (question !== undefined) Object.assign(question, { answer, answeredAt: this.#time() });
  }

  #cancel(call: SideCall): SideReply {
    const { projectId, jobId, turn: number } = call;
    const job = this.#find(projectId, jobId);
    const turn = job?.turns.find((candidate) => candidate.number === number);
    if (job === null || turn === undefined) return { status: 404, json: { error: "Job or turn not found" } };
    if (turn.status !== "ended") {
      if (turn === job.turns.at(-1)) {
        endJob(job, { status: "failed", turn: { outcome: "cancelled" } }, this.#time());
      } else Object.assign(turn, { status: "ended", outcome: "cancelled", endedAt: this.#time() });
      this.cancels.push(`${job.id}/${turn.number}`);
    }
    return { status: 200, json: recordOf(job, call) };
  }

  #find(projectId: string, jobId: string | null): SideJob | null {
    const job = jobId === null ? undefined : this.jobs.get(jobId);
    return job?.projectId === projectId ? job : null;
  }

  #job(jobId: string): SideJob {
    const job = this.jobs.get(jobId);
    if (job === undefined) throw new Error(`The job service side has no job ${jobId}`);
    return job;
  }

  async #callHook(phase: "before" | "after", call: SideCall): Promise<void> {
    try {
      await this.#hook?.(phase, call);
    } catch (thrown) {
      this.#hookFaults.push(thrown);
    }
  }

  #time(): string {
    return new Date(this.#now()).toISOString().replace(/\.\d{3}Z$/, "Z");
  }
}
