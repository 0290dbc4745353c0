import { createHash } from "node:crypto";
import type { SlackDelivery, SlackMessage } from "../../emulators/slack/index.ts";
import type { JobServiceSideOptions } from "./job-service-side.ts";
import { PR, askedFor, told } from "./threads.ts";
import { MINUTE_MS } from "./threads.ts";
import { ANA, BEN, DOCS, SECRET_CHANNEL, World } from "./world.ts";

/** A guest in #docs. */
const GUS = "U0GUS";
const PEOPLE = [ANA, BEN, GUS, ANA, BEN];

/** What can happen in a workspace with the app, one thing after the other. */
export const ACTS = [
  "command",
  "mention",
  "new",
  "chat",
  "write",
  "press",
  "press",
  "press",
  "stop",
  "again",
  "answer",
  "list",
  "work",
  "ask",
  "ask",
  "finish",
  "archive",
  "forget",
  "restart",
  "outage",
  "lost-post",
  "lost-call",
  "wait",
] as const;
/** `who`, `which` and `how` choose among whatever there is at that moment. */
export type Act = { act: (typeof ACTS)[number]; who: number; which: number; how: number };

export type Setting = { jobService: JobServiceSideOptions; followUps: "mention" | "requester" };

type Pressable = { message: SlackMessage; actionId: string; option?: string; value: string };

/** Lets all of it happen, then lets everything come to its end, and returns what is wrong with what is to be seen then. */
export async function faultsOf({ jobService, followUps }: Setting, acts: readonly Act[]): Promise<string[]> {
  await using world = await World.start({ jobService, env: { FOLLOW_UPS: followUps } });
  const { workspace } = world.slack;
  workspace.addUser({ id: GUS, name: "gus", displayName: "Gus", guest: "multi-channel" });
  workspace.invite(DOCS, GUS);
  workspace.invite(SECRET_CHANNEL);
  const conversation = new Conversation(world, followUps);
  for (const act of acts) await conversation.happen(act);
  await conversation.end();
  return conversation.faults();
}

/** The people, what they did, and what must come of it. */
class Conversation {
  readonly #world: World;
  readonly #followUps: Setting["followUps"];
  #words = 0;
  /** Requests that members made and that were taken; those by **Try again** by what was pressed. */
  #requests = 0;
  /** Mentions that may have been requests. */
  #replies = 0;
  readonly #retried = new Set<string>();
  /** The same where only the requester may: under a follow-up, by that policy. */
  readonly #mayBeRetried = new Set<string>();
  readonly #chats: { userId: string; text: string }[] = [];
  readonly #secrets: string[] = [];
  readonly #ofGuest: string[] = [];
  readonly #pressed: SlackDelivery[] = [];

  constructor(world: World, followUps: Setting["followUps"]) {
    this.#world = world;
    this.#followUps = followUps;
  }

  async happen({ act, who, which, how }: Act): Promise<void> {
    const { slack, service } = this.#world;
    const userId = pick(PEOPLE, who) ?? ANA;
    const channel = userId === ANA && how % 4 === 0 ? SECRET_CHANNEL : DOCS;
    const person = slack.person(userId);
    switch (act) {
      case "command": {
        const { status } = await person.command({ channel, text: this.#text(userId, channel) });
        this.#took(userId, status);
        break;
      }
      case "mention":
      case "new": {
        const root = pick(this.#roots(channel), which);
        const text = `${act === "new" ? "new " : ""}${this.#text(userId, channel)}`;
        const { status, delivery } = await person.mention({
          channel,
          text,
          ...(root === undefined ? {} : { threadTs: root.ts }),
        });
        // Under that policy, only those of whoever asked are follow-ups.
        if (root !== undefined && act === "mention" && this.#followUps === "requester")
          this.#replied(userId, status);
        else this.#took(userId, status);
        if (how % 3 === 0 && delivery !== undefined) await slack.redeliver(delivery, { retryNum: 1 });
        break;
      }
      case "chat": {
        const root = pick(this.#roots(channel), which);
        if (root === undefined) break;
        const text = this.#text(userId, channel);
        this.#chats.push({ userId, text });
        await person.say({ channel, text, threadTs: root.ts });
        break;
      }
      case "write": {
        const { id } = slack.workspace.openDirectMessage([userId]);
        const { status } = await person.say({ channel: id, text: this.#text(userId, id) });
        this.#took(userId, status);
        break;
      }
      case "press":
        await this.#press(userId, which * 7 + how);
        break;
      case "stop":
        await this.#press(userId, which, "stop_turn");
        break;
      case "again": {
        const delivery = pick(this.#pressed, which);
        if (delivery !== undefined) await slack.redeliver(delivery, { resign: true });
        break;
      }
      case "answer": {
        const view = slack.openViews(userId).at(-1);
        if (view?.view.callback_id !== "answer_form") break;
        const text = this.#text(userId, DOCS);
        await person.submit({ viewId: view.id, values: { answer: { answer: text } } });
        break;
      }
      case "list":
        await person.command({ channel, text: pick(["list", "list channel", "status"], how) ?? "list" });
        break;
      case "work":
        this.#active(which, (jobId) => service.tell(jobId, { step: `Read page ${how}` }));
        break;
      case "ask":
        this.#active(which, (jobId) => service.ask(jobId, { text: `Which page? (${how})` }));
        break;
      case "finish":
        this.#active(which, (jobId) => this.#finish(jobId, how));
        break;
      case "archive":
        this.#active(which, (jobId) => service.finish(jobId, { status: "archived" }));
        break;
      case "forget":
        if (how % 4 === 0) this.#active(which, (jobId) => service.forget(jobId));
        break;
      case "restart":
        await this.#world.stopApp();
        await this.#world.startApp();
        break;
      case "outage":
        if (how % 2 === 0) await service.down();
        else await service.up();
        break;
      case "lost-post":
        slack.faults.add({
          method: how % 2 === 0 ? "chat.postMessage" : "chat.update",
          fault: { kind: "drop-after" },
        });
        break;
      case "lost-call": {
        const op = pick(["create", "message", "cancel", "answer"] as const, which) ?? "create";
        service.faults.add({ op, times: 1, fault: { kind: how % 2 === 0 ? "drop-after" : "drop-before" } });
        break;
      }
      case "wait":
        await this.#world.pass((how % 5) * MINUTE_MS + 1_000 * which);
        break;
    }
    if (how % 2 === 0) await this.#world.settle();
  }

  /** Both sides work again, and all jobs come to an end. */
  async end(): Promise<void> {
    const { slack, service } = this.#world;
    await service.up();
    slack.faults.clear();
    service.faults.clear();
    // A job that is created late is finished late.
    for (let round = 0; round < 4; round += 1) {
      await this.#world.pass(20 * MINUTE_MS);
      for (const { id, status } of service.jobs.values()) if (status === "active") this.#finish(id, round);
    }
    await this.#world.pass(60 * MINUTE_MS);
  }

  faults(): string[] {
    const followUps = this.#followUps;
    const { slack, service, logger } = this.#world;
    const faults: string[] = [];
    const posts = slack.workspace
      .channels()
      .flatMap(({ id }) => slack.messages(id))
      .filter(({ bot_id }) => bot_id !== undefined);
    const labels = posts.map(({ metadata }) => JSON.stringify(metadata?.event_payload ?? null));
    faults.push(...twice(labels).map((label) => `posted twice: ${label}`));

    const ended = posts.filter(({ metadata }) => metadata?.event_payload["post"] === "outcome-1").length;
    const asked = [...service.creates, ...service.messages].map(askedFor);
    // Under that policy, the replies of whoever asked are follow-ups.
    const mayAsk = (userId: string) => followUps === "requester" && userId !== GUS;
    const chats = this.#chats.filter(({ text }) => asked.includes(text));
    for (const { text, userId } of chats) if (!mayAsk(userId)) faults.push(`nobody asked for this: ${text}`);
    const least = this.#requests + this.#retried.size;
    const mayBe = this.#mayBeRetried.size;
    const most = followUps === "requester" ? least + this.#replies + this.#chats.length + mayBe : least;
    if (ended < least || ended > most) faults.push(`${least} to ${most} turns have ${ended} outcomes`);

    for (const message of posts) {
      const text = slack.visibleText(message);
      if (/^(⏳|🔧|⚠️|💬 Waiting)/mu.test(text)) faults.push(`still at work: ${text}`);
      if (/\[Stop\]|\[Answer…\]/.test(text)) faults.push(`a button that means nothing: ${text}`);
      if (followUps === "requester" && /@(\w+), (?!@\1)@\w+ (stopped|canceled)/.test(text))
        faults.push(`stopped by who may not: ${text}`);
    }

    // **Try again** sends the same words once more, each time it is pressed.
    const repeated = asked.length - new Set(asked).size;
    if (repeated > this.#retried.size + mayBe) faults.push(`asked for twice: ${twice(asked).join(", ")}`);
    const left = [
      ...service.calls.map(({ prompt }) => prompt ?? ""),
      ...service.answers.map(({ answer }) => answer),
    ].join("\n");
    for (const words of this.#ofGuest)
      if (holds(left, words)) faults.push(`a guest's words left Slack: ${words}`);
    faults.push(
      ...twice(service.answers.map(({ jobId, questionId }) => `${jobId} ${questionId}`)).map(
        (id) => `answered twice: ${id}`,
      ),
    );

    const seen = [
      ...slack.messages(DOCS),
      ...[BEN, GUS].flatMap((userId) => [...slack.dm(userId), ...slack.ephemerals(userId)]),
    ]
      .map((message) => slack.visibleText(message))
      .join("\n");
    for (const words of this.#secrets) if (holds(seen, words)) faults.push(`seen by who may not: ${words}`);
    if (logger.text("error") !== "") faults.push(logger.text("error"));
    return faults;
  }

  async #press(userId: string, which: number, only?: string): Promise<void> {
    const { slack } = this.#world;
    const seen = slack.workspace
      .channels()
      .filter(
        ({ id, kind, members }) =>
          members.has(userId) && (kind !== "im" || slack.dm(userId)[0]?.channel === id),
      );
    const shown = seen.flatMap(({ id }) => slack.messages(id)).flatMap(pressables);
    const wanted = only === undefined ? shown : shown.filter((button) => button.actionId === only);
    const { message, actionId, option, value } = pick(wanted, which) ?? {};
    if (message === undefined || actionId === undefined) return;
    const click = { channel: message.channel, messageTs: message.ts, actionId };
    const { status, delivery } = await slack
      .person(userId)
      .click(option === undefined ? click : { ...click, option });
    if (status !== 200) throw new Error(`the app answered ${status} to ${actionId}`);
    // Slack sends none of these twice, and its trigger is good for one form.
    if (actionId !== "answer_in_words") this.#pressed.push(delivery);
    if (actionId !== "try_again" || userId === GUS || value === undefined) return;
    const mayBeRefused = this.#followUps === "requester" && /"(mention|again):/.test(value);
    (mayBeRefused ? this.#mayBeRetried : this.#retried).add(value);
  }

  #finish(jobId: string, how: number): void {
    const { service } = this.#world;
    const url = PR.replace(/7$/, String(createHash("sha256").update(jobId).digest().readUInt16BE()));
    const { pullRequest } = told();
    switch (how % 3) {
      case 0:
        return service.finish(jobId, { status: "failed" });
      case 1:
        return service.finish(jobId, { status: "completed" });
      default:
        return service.finish(jobId, {
          status: "completed",
          prLink: url,
          turn: { ...told(), pullRequest: { ...pullRequest, url } },
        });
    }
  }

  #active(which: number, act: (jobId: string) => void): void {
    const active = [...this.#world.service.jobs.values()].filter(({ status }) => status === "active");
    const job = pick(active, which);
    if (job !== undefined) act(job.id);
  }

  #took(userId: string, status: number): void {
    if (status !== 200) throw new Error(`the app answered ${status}`);
    if (userId !== GUS) this.#requests += 1;
  }

  #replied(userId: string, status: number): void {
    if (status !== 200) throw new Error(`the app answered ${status}`);
    if (userId !== GUS) this.#replies += 1;
  }

  #text(userId: string, channel: string): string {
    this.#words += 1;
    const text = `fix page number-${this.#words}-`;
    if (channel === SECRET_CHANNEL) this.#secrets.push(text);
    if (userId === GUS) this.#ofGuest.push(text);
    return text;
  }

  #roots(channel: string): SlackMessage[] {
    return this.#world.slack.messages(channel).filter(({ ts, thread_ts }) => (thread_ts ?? ts) === ts);
  }
}

function pressables(message: SlackMessage): Pressable[] {
  if (message.bot_id === undefined) return [];
  return (message.blocks ?? []).flatMap((block) => {
    if (block.type !== "actions") return [];
    return block.elements.flatMap((element): Pressable[] => {
      if (element.type === "button") {
        if (element.url !== undefined) return [];
        return [{ message, actionId: element.action_id ?? "", value: element.value ?? "" }];
      }
      if (element.type !== "overflow") return [];
      return element.options.map(({ value }) => ({
        message,
        actionId: element.action_id ?? "",
        option: value ?? "",
        value: value ?? "",
      }));
    });
  });
}

function holds(text: string, words: string): boolean {
  return text.includes(words);
}

function pick<T>(from: readonly T[], n: number): T | undefined {
  return from.length === 0 ? undefined : from[n % from.length];
}

function twice(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
