import type { SlackMessage } from "../../world/slack/index.ts";
import { visibleText } from "../../world/slack/index.ts";
import type { FollowUps } from "../../src/app/rules/thread/people.ts";
import { nameOf, turnOf, turnOfKey } from "../soak/ledger.ts";
import { wordsAsked } from "./conversation-ledger.ts";
import type { ConversationLedger } from "./conversation-ledger.ts";
import type { World } from "./world.ts";

/** A conversation that has ended, and everything to judge it by. */
export type Judged = {
  world: World;
  ledger: ConversationLedger;
  followUps: FollowUps;
  people: readonly string[];
  guest: string;
};

/** The notice after an answer that came too late. */
const SENT_ON = "It's a follow-up now.";
const REFUSED = "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.";

/**
 * Returns the faults in everything that can be seen at the end, and in everything that left Slack.
 */
export function faultsIn(judged: Judged): string[] {
  const posts = postsOf(judged.world);
  return [
    ...countFaults(judged, posts),
    ...askFaults(judged),
    ...posts.flatMap((post) => postFaults(judged, post)),
    ...(judged.followUps === "requester" ? steeringFaults(judged, posts) : []),
    ...consentFaults(judged),
    ...guestFaults(judged),
    ...followFaults(judged, posts),
    ...lostAnswerFaults(judged, posts),
  ];
}

/** Each turn must have one outcome, and nothing may appear twice. */
function countFaults({ world, ledger, followUps }: Judged, posts: SlackMessage[]): string[] {
  const { service } = world;
  const labels = posts.map(({ metadata }) => JSON.stringify(metadata?.event_payload ?? null));
  const ended = posts.filter((post) => nameOf(post) === "outcome-1").map(turnOf);
  const asAnswers = answersIn(world, posts);
  const certain = [...ledger.taken, ...ledger.sent.values()].filter((words) => !asAnswers.has(words));
  const least = certain.length + ledger.retried.size;
  const maybe = ledger.maybeTaken.size + ledger.maybeRetried.size + ledger.chats.length;
  const most = followUps === "requester" ? least + maybe : least;
  const answered = service.answers.map(({ jobId, questionId }) => `${jobId} ${questionId}`);
  const turns = [...service.creates, ...service.messages].map(turnOfCall);
  return [
    ...twice(labels).map((label) => `posted twice: ${label}`),
    ...(ended.length < least || ended.length > most
      ? [`${least} to ${most} turns have ${ended.length} outcomes`]
      : []),
    ...turns.filter((turn) => !ended.includes(turn)).map((turn) => `it has no outcome: ${turn}`),
    ...twice(answered).map((id) => `answered twice: ${id}`),
    ...[...service.creates, ...service.messages]
      .map(wordsAsked)
      .filter((words) => asAnswers.has(words))
      .map((words) => `an answer, and a request: ${words}`),
  ];
}

/** Every request that was sent must come from a person who may ask, and be sent once. */
function askFaults({ world: { service, logger }, ledger, followUps, guest }: Judged): string[] {
  const asked = [...service.creates, ...service.messages].map(wordsAsked);
  // **Try again** sends the same words once more for each press.
  const isRepeated = asked.length - new Set(asked).size > ledger.retried.size + ledger.maybeRetried.size;
  const sent = new Set(ledger.sent.values());
  const chats = new Map(ledger.chats.map((chat) => [chat.words, chat]));
  return [
    ...asked
      .filter((words) => {
        const chat = chats.get(words);
        if (chat === undefined) return ledger.of(words)?.saidFor !== "request" && !sent.has(words);
        return followUps === "ask" ? !sent.has(words) : followUps !== "requester" || chat.by === guest;
      })
      .map((words) => `nobody asked for this: ${words}`),
    ...(isRepeated ? [`asked for twice: ${twice(asked).join(", ")}`] : []),
    ...(logger.text("error") === "" ? [] : [logger.text("error")]),
  ];
}

/**
 * No message may call something over that isn't, offer something that can't be done anymore, or
 * tell its readers something that isn't for them.
 */
function postFaults({ world: { slack }, ledger, guest }: Judged, post: SlackMessage): string[] {
  const text = slack.visibleText(post);
  const { kind } = slack.workspace.channel(post.channel);
  const elsewhere = ledger
    .in(text)
    .filter(({ said: { place } }) => kind !== "im" && place !== null && place !== post.channel);
  const isToldOnce = nameOf(post) === "unheard";
  return [
    ...(!isToldOnce && /^(⏳|🔧|⚠️|💬 Waiting)/mu.test(text) ? [`still at work: ${text}`] : []),
    ...(/\[Stop\]|\[Answer…\]/.test(text) ? [`a button that means nothing: ${text}`] : []),
    ...(text.includes(`@${slack.workspace.nameOf(guest)}`) ? [`done by a guest: ${text}`] : []),
    ...(elsewhere.length > 0 ? [`told in ${post.channel}: ${text}`] : []),
  ];
}

/** If only requesters steer, nobody else may stop, answer or add to their turns. */
function steeringFaults({ world: { slack, service }, ledger }: Judged, posts: SlackMessage[]): string[] {
  const asker = (call: { prompt: string }) => ledger.of(wordsAsked(call))?.by;
  const requesters = new Map(
    [...service.creates, ...service.messages].map((call) => [turnOfCall(call), asker(call)]),
  );
  const owners = new Map(
    service.creates.filter((call) => !isRetry(call)).map((call) => [call.jobId, asker(call)]),
  );
  const foreign = service.messages.filter((call) => {
    const owner = isRetry(call) ? undefined : owners.get(call.jobId);
    return owner !== undefined && owner !== asker(call);
  });
  const steered = posts.filter((post) => {
    const [, by] = /@(\w+) (?:answered: |stopped|canceled)/.exec(slack.visibleText(post)) ?? [];
    const requester = requesters.get(turnOf(post));
    if (by === undefined || !requester || turnOf(post).startsWith("again:")) return false;
    return by !== slack.workspace.nameOf(requester);
  });
  return [
    ...foreign.map(({ prompt, jobId }) => `followed up by who may not, in ${jobId}: ${prompt}`),
    ...steered.map((post) => `steered by who may not: ${slack.visibleText(post)}`),
  ];
}

/** Messages that were unchecked in a form must not be sent with it. */
function consentFaults({ world: { service }, ledger: { forms } }: Judged): string[] {
  return service.calls.flatMap(({ prompt }) => {
    const form = forms.find(({ words }) => words === wordsAsked({ prompt: prompt ?? "" }));
    const shared = form?.unticked.filter((words) => prompt?.includes(words)) ?? [];
    return shared.map((words) => `unticked, and shared: ${words}`);
  });
}

/**
 * A guest must not open, start or learn anything, and nothing that a guest wrote may leave Slack.
 */
function guestFaults({ world: { slack, service }, ledger, guest }: Judged): string[] {
  const left = [
    ...service.calls.map(({ prompt }) => prompt ?? ""),
    ...service.answers.map(({ answer }) => answer),
  ].join("\n");
  const told = [...slack.ephemerals(guest), ...slack.dm(guest).filter(({ bot_id }) => bot_id !== undefined)]
    .map((message) => slack.visibleText(message))
    .filter((text) => text !== REFUSED);
  return [
    ...ledger
      .in(left)
      .filter(({ said }) => said.by === guest)
      .map(({ words }) => `a guest's words left Slack: ${words}`),
    ...told.map((text) => `told to a guest: ${text}`),
    ...slack
      .openViews(guest)
      .map(
        ({ view }) =>
          `opened for a guest: ${visibleText({ text: "", blocks: view.blocks }, () => undefined)}`,
      ),
  ];
}

/** A person who chose **Follow it** must be mentioned in a result. */
function followFaults({ world: { slack }, ledger }: Judged, posts: SlackMessage[]): string[] {
  return ledger.followed
    .filter(({ userId }) => !ledger.choosers.has(userId))
    .filter(({ userId, turnId, from }) => {
      const thread = posts.filter((post) => turnOf(post) === turnId).map(threadOf);
      const outcomes = posts.filter(
        (post) => nameOf(post).startsWith("outcome-") && thread.includes(threadOf(post)) && post.ts > from,
      );
      return !outcomes.some((post) => slack.visibleText(post).includes(`@${slack.workspace.nameOf(userId)}`));
    })
    .map(({ userId, turnId }) => `${userId} is not mentioned in the result of ${turnId}`);
}

/**
 * An answer that the agent didn't get must become a follow-up, or its author must be told, with the
 * words of the answer.
 */
function lostAnswerFaults({ world: { slack }, people }: Judged, posts: SlackMessage[]): string[] {
  return posts.flatMap((post) => {
    const text = slack.visibleText(post);
    const [, name, words = ""] = /^@(\w+) answered: (.*)$/mu.exec(text) ?? [];
    const isLost = /^(Too late|I couldn't reach|I can't tell|The agent didn't accept)/mu.test(text);
    if (name === undefined || !isLost || text.includes(SENT_ON)) return [];
    const who = people.find((userId) => slack.workspace.nameOf(userId) === name) ?? "";
    const told = slack.dm(who).map((message) => slack.visibleText(message));
    const isTold = told.some((line) => line.startsWith("⚠️") && line.includes(words));
    return isTold ? [] : [`an answer is lost, and nobody told ${name}: ${text}`];
  });
}

/**
 * Returns what people see now in direct messages and private messages that they may not see.
 * `known` holds what was checked before.
 */
export function privateFaults(
  { world: { slack }, ledger, people }: Judged,
  known: WeakMap<object, string>,
): string[] {
  return people.flatMap((userId) =>
    [...slack.ephemerals(userId), ...slack.dm(userId)].flatMap((message) => {
      const text = slack.visibleText(message);
      if (known.get(message) === text) return [];
      known.set(message, text);
      const hidden = ledger.in(text).filter(({ said: { place } }) => {
        if (place === null || place === userId) return false;
        return slack.workspace.findChannel(place)?.members.has(userId) !== true;
      });
      return hidden.map(({ words }) => `${words} was shown to ${userId}: ${text}`);
    }),
  );
}

function postsOf({ slack }: World): SlackMessage[] {
  return slack.workspace
    .channels()
    .flatMap(({ id }) => slack.messages(id))
    .filter(({ bot_id }) => bot_id !== undefined);
}

/** Returns the words that were said as a reply and served as an answer to an agent's question. */
function answersIn({ slack, service }: World, posts: SlackMessage[]): Set<string> {
  const shown = posts
    .map((post) => slack.visibleText(post))
    .filter((text) => !text.includes(SENT_ON))
    .flatMap((text) => /answered: (.*)$/m.exec(text)?.[1] ?? []);
  return new Set([...shown, ...service.answers.map(({ answer }) => answer)]);
}

function threadOf({ channel, ts, thread_ts: threadTs = ts }: SlackMessage): string {
  return `${channel} ${threadTs}`;
}

function turnOfCall({ idempotencyKey }: { idempotencyKey: string | null }): string {
  return turnOfKey(idempotencyKey ?? "");
}

function isRetry(call: { idempotencyKey: string | null }): boolean {
  return turnOfCall(call).startsWith("again:");
}

function twice(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
