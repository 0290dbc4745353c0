import type { SlackMessage } from "../../world/slack/index.ts";
import type { FollowUps } from "../../src/app/rules/thread/people.ts";
import type { JobServiceSideOptions } from "../../world/job-service/side.ts";
import { ConversationAgents } from "./conversation-agents.ts";
import { faultsIn, privateFaults } from "./conversation-faults.ts";
import { ConversationForms } from "./conversation-forms.ts";
import { ConversationLedger, pick, placeOfRequest, taken } from "./conversation-ledger.ts";
import { ConversationPresses, channelsOf } from "./conversation-presses.ts";
import { MINUTE_MS } from "./threads.ts";
import { ANA, BEN, DOCS, RANDOM, SECRET_CHANNEL, World } from "./world.ts";

/** A guest in #docs. */
const GUS = "U0GUS";
const PEOPLE = [ANA, BEN, GUS, ANA, BEN];
/** Longer than the app remembers the channels of a person. */
const FORGOTTEN_AFTER_MS = 31_000;

/** The acts that can happen in a workspace with the app, with their relative frequency. */
const OFTEN = {
  command: 3,
  mention: 4,
  new: 1,
  chat: 3,
  edit: 2,
  write: 1,
  form: 1,
  shortcut: 2,
  send: 3,
  follow: 2,
  press: 4,
  "press-alone": 4,
  stop: 1,
  again: 1,
  answer: 3,
  list: 3,
  move: 1,
  work: 1,
  ask: 4,
  finish: 2,
  archive: 1,
  forget: 1,
  restart: 1,
  outage: 1,
  "lost-post": 1,
  "lost-call": 1,
  wait: 2,
};
/** Every act, as often as its frequency says. */
export const ACTS = Object.entries(OFTEN).flatMap(([act, times]) =>
  Array.from({ length: times }, () => act as keyof typeof OFTEN),
);
/** An act. `who`, `which` and `how` choose among everything that exists at that moment. */
export type Act = { act: keyof typeof OFTEN; who: number; which: number; how: number };

/** The kind of job service, and the app's policy for follow-ups. */
export type Setting = { jobService: JobServiceSideOptions; followUps: FollowUps };

/**
 * Performs all acts, lets everything come to its end, and returns the faults that can be seen then.
 */
export async function faultsOf({ jobService, followUps }: Setting, acts: readonly Act[]): Promise<string[]> {
  await using world = await World.start({ jobService, env: { FOLLOW_UPS: followUps } });
  const { workspace } = world.slack;
  workspace.addUser({ id: GUS, name: "gus", displayName: "Gus", guest: "multi-channel" });
  workspace.invite(DOCS, GUS);
  workspace.invite(SECRET_CHANNEL);
  const conversation = new Conversation(world, followUps);
  for (const act of acts) await conversation.happen(act);
  await conversation.end();
  return conversation.faults;
}

/** The people, and their acts. */
class Conversation {
  readonly #world: World;
  readonly #followUps: FollowUps;
  readonly #ledger = new ConversationLedger();
  readonly #forms: ConversationForms;
  readonly #presses: ConversationPresses;
  readonly #agents: ConversationAgents;
  /** The private messages that were checked before. */
  readonly #seen = new WeakMap<object, string>();
  readonly faults: string[] = [];

  constructor(world: World, followUps: FollowUps) {
    this.#world = world;
    this.#followUps = followUps;
    this.#forms = new ConversationForms(world.slack, this.#ledger);
    const { slack } = world;
    this.#presses = new ConversationPresses({ slack, ledger: this.#ledger, guest: GUS, followUps });
    this.#agents = new ConversationAgents(world.service, this.#ledger);
    for (const [user, channel] of [
      [BEN, DOCS],
      [GUS, DOCS],
      [ANA, SECRET_CHANNEL],
      [BEN, RANDOM],
    ] as const) {
      world.slack.workspace.say({ channel, user, text: this.#ledger.say(user, channel, "nothing") });
    }
  }

  async happen({ act, who, which, how }: Act): Promise<void> {
    const { slack, service } = this.#world;
    const userId = pick(PEOPLE, who) ?? ANA;
    const channel = this.#channelOf(userId, how);
    const anyChannel = how % 5 === 4 && userId !== GUS ? RANDOM : channel;
    const person = slack.person(userId);
    switch (act) {
      case "command": {
        const text = this.#request(userId, anyChannel);
        this.#took(userId, text, await person.command({ channel: anyChannel, text }));
        break;
      }
      case "mention":
      case "new": {
        const root = pick(this.#roots(channel), which);
        const words = this.#request(userId, channel);
        const text = `${act === "new" ? "new: " : ""}${words}`;
        const at = root === undefined ? {} : { threadTs: root.ts };
        const said = await person.mention({ channel, text, ...at });
        // Under that policy, only the requester's mentions are follow-ups.
        const isMaybe = root !== undefined && act === "mention" && this.#followUps === "requester";
        this.#took(userId, words, said, isMaybe);
        if (how % 3 === 0 && said.delivery !== undefined)
          await slack.redeliver(said.delivery, { retryNum: 1 });
        break;
      }
      case "chat": {
        const root = pick(this.#roots(channel).toReversed(), which);
        if (root === undefined) break;
        const words = this.#ledger.say(userId, channel, "chat");
        const { message } = await person.say({ channel, text: words, threadTs: root.ts });
        this.#ledger.chats.push({ words, by: userId, channel, ts: message.ts });
        break;
      }
      case "edit": {
        const own = channelsOf(slack, userId).flatMap((id) =>
          slack.messages(id).filter(({ user }) => user === userId),
        );
        const message = pick(own, which);
        if (message === undefined) break;
        const mention = how % 2 === 0 ? `<@${slack.workspace.bot.userId}> ` : "";
        const text = mention + this.#ledger.say(userId, this.#placeOf(message.channel, userId), "nothing");
        const heard = await person.edit({ channel: message.channel, messageTs: message.ts, text });
        for (const { status } of heard) taken(status);
        const chat = this.#ledger.chats.find(({ ts }) => ts === message.ts);
        if (chat !== undefined && mention !== "") chat.isForOthers = true;
        break;
      }
      case "write": {
        const { id } = slack.workspace.openDirectMessage([userId]);
        const text = this.#request(userId, id);
        this.#took(userId, text, await person.say({ channel: id, text }));
        break;
      }
      case "form":
        await this.#forms.open(userId, anyChannel, undefined, userId === GUS);
        break;
      case "shortcut": {
        const message = pick(slack.messages(anyChannel), which);
        if (message !== undefined) await this.#forms.open(userId, anyChannel, message.ts, userId === GUS);
        break;
      }
      case "send":
      case "follow": {
        const message = pick(slack.messages(channel).toReversed(), which);
        if (!this.#forms.isOpen(userId) && message !== undefined)
          await this.#forms.open(userId, channel, message.ts, userId === GUS);
        if (act === "send") await this.#forms.send(userId, how);
        else await this.#forms.follow(userId);
        break;
      }
      case "press":
        await this.#presses.press(userId, which * 7 + how);
        break;
      case "stop":
        await this.#presses.press(userId, which, "stop_turn");
        break;
      case "press-alone":
        await this.#presses.pressAlone(userId, which);
        break;
      case "again":
        await this.#presses.again(which);
        break;
      case "answer": {
        const view = slack.openViews(userId).at(-1);
        if (view?.view.callback_id !== "answer_form") {
          await this.#presses.press(userId, which, pick(["answer_in_words", "answer_choice_0"], how));
          break;
        }
        const text = this.#ledger.say(userId, null, "nothing");
        await person.submit({ viewId: view.id, values: { answer: { answer: text } } });
        break;
      }
      case "list": {
        const text = pick(["list", "list channel", "status", "list channel"], which) ?? "list";
        if (how % 3 === 0)
          await person.say({ channel: slack.workspace.openDirectMessage([userId]).id, text });
        else await person.command({ channel: anyChannel, text });
        break;
      }
      case "move":
        await this.#move();
        break;
      case "work":
      case "ask":
      case "finish":
      case "archive":
      case "forget":
        this.#agents[act](which, how);
        break;
      case "restart":
        await this.#world.stopApp();
        await this.#world.startApp();
        break;
      case "outage":
        if (how % 3 === 0) await service.down();
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
    if (which % 4 === 1) await this.#world.pass(20_000);
    else if (which % 4 !== 3) await this.#world.settle();
    this.#look();
  }

  /** Makes both sides work again and all jobs end. */
  async end(): Promise<void> {
    const { slack, service } = this.#world;
    await service.up();
    slack.faults.clear();
    service.faults.clear();
    // A job that is created late also ends late.
    for (let round = 0; round < 4; round += 1) {
      await this.#world.pass(20 * MINUTE_MS);
      this.#agents.finishAll(round);
    }
    await this.#world.pass(60 * MINUTE_MS);
    this.#look();
    this.faults.push(...this.#presses.faults, ...faultsIn(this.#judged));
  }

  get #judged() {
    return {
      world: this.#world,
      ledger: this.#ledger,
      followUps: this.#followUps,
      people: [ANA, BEN, GUS],
      guest: GUS,
    };
  }

  #look(): void {
    this.#presses.look();
    this.faults.push(...privateFaults(this.#judged, this.#seen));
  }

  /** Ben joins the secret channel, or leaves it. */
  async #move(): Promise<void> {
    const { workspace } = this.#world.slack;
    if (!workspace.channel(SECRET_CHANNEL).members.has(BEN)) {
      workspace.invite(SECRET_CHANNEL, BEN);
      return;
    }
    this.#look();
    workspace.kick(SECRET_CHANNEL, BEN);
    await this.#world.pass(FORGOTTEN_AFTER_MS);
    // The app may still tell him about earlier requests.
    privateFaults(this.#judged, this.#seen);
  }

  #took(userId: string, words: string, { status }: { status: number }, isMaybe = false): void {
    taken(status);
    if (userId !== GUS) (isMaybe ? this.#ledger.maybeTaken : this.#ledger.taken).add(words);
  }

  #request(userId: string, channel: string): string {
    const isBotIn = this.#world.slack.workspace.isBotIn(channel);
    return this.#ledger.say(userId, placeOfRequest(userId, channel, isBotIn), "request");
  }

  /** Returns the place whose people may read what is written in a channel. */
  #placeOf(channel: string, userId: string): string {
    return this.#world.slack.workspace.channel(channel).kind === "im" ? userId : channel;
  }

  /** Chooses a channel with the app that a person is in. */
  #channelOf(userId: string, how: number): string {
    const isIn = this.#world.slack.workspace.channel(SECRET_CHANNEL).members.has(userId);
    return isIn && how % 4 === 0 ? SECRET_CHANNEL : DOCS;
  }

  #roots(channel: string): SlackMessage[] {
    return this.#world.slack.messages(channel).filter(({ ts, thread_ts }) => (thread_ts ?? ts) === ts);
  }
}
