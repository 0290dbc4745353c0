import type { App } from "@slack/bolt";
import { z } from "zod";
import type { Refusal } from "../rules/ports/notifier.ts";
import { isReply } from "../rules/turn/request.ts";
import { homeTask, replyTask } from "../rules/decisions/new-tasks.ts";
import { ACTIONS } from "../messages/actions.ts";
import { refusalMessage, refusalText } from "../messages/refusal-message.ts";
import { whyRefused } from "./access.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";
import { SaidSubtype, SLACKBOT_USER_ID } from "../slack/message/slack-message.ts";
import { nativeStopOf, refuseNativeStop } from "./native-stop.ts";
import { threadOfButton } from "./press.ts";
import { causeOf } from "./message-to-app.ts";
import { parseMessageText } from "../slack/message/message-text.ts";
import { mentionsApp } from "../slack/message/without-mention.ts";

const Person = z.object({ id: z.string() });

const Event = z.object({
  event: z.object({
    type: z.string(),
    user: z.union([z.string(), Person.transform(({ id }) => id)]),
    // Messages by apps are nobody's request.
    bot_id: z.never().optional(),
    subtype: z.string().optional(),
    channel: z.string().optional(),
    channel_type: z.string().optional(),
    text: z.string().default("").catch(""),
    ts: z.string().optional(),
    thread_ts: z.string().optional(),
  }),
});

/**
 * The check that everything from Slack passes. Whatever a guest or a person of another organization
 * does ends here, before any of it is stored, and so does what comes from a place or a person that
 * the operator doesn't let in. Stopping the agent is left to everybody who may steer it. If Slack
 * doesn't say in time who a person is, presses and forms are refused, since they can be repeated.
 * Commands and mentions are accepted, and `tasks/submit.ts` sends nothing until it is known.
 */
export function registerGuestCheck(app: App, deps: IntakeDeps): void {
  app.use(async (args) => {
    const userId = actorOf(args.body, args.context.botUserId);
    if (userId === null || isHarmless(args.body)) return args.next();
    const teamId = teamOf(args.context);
    const stop = nativeStopOf(args.body, teamId);
    const refusal = await refusalOf(deps, { userId, body: args.body, isStop: stop !== null });
    if (refusal === null) return args.next();
    const isUnchecked = refusal.kind === "unchecked";
    const answer = {
      ...refusalMessage(refusal, deps),
      response_type: "ephemeral",
      replace_original: false,
    } as const;

    // The tab itself says why.
    if (isInHome(args.body)) await deps.queue.add(homeTask({ teamId, userId }));
    if ("command" in args) return isUnchecked ? args.next() : args.ack(answer);
    if ("view" in args) {
      const field = firstInput(args.view.blocks);
      return field === undefined || args.body.type !== "view_submission"
        ? args.ack()
        : args.ack({ response_action: "errors", errors: { [field]: refusalText(refusal) } });
    }
    if ("shortcut" in args) {
      if (isUnchecked) return args.next();
      await args.ack();
      if ("respond" in args) await args.respond(answer);
      return;
    }
    if ("action" in args) {
      // Where we can't answer, Slack itself shows that the press failed.
      if ("response_url" in args.body) await args.respond({ ...answer, ...threadOfButton(args.body) });
      return args.ack();
    }
    if (stop !== null) return refuseNativeStop(deps, stop, refusal);
    if ("event" in args && isUnchecked) return args.next();
    await refuseEvent(deps, teamId, args.body, refusal);
  });
}

/** Why somebody may not do what they did, or null if they may. */
async function refusalOf(
  deps: IntakeDeps,
  { userId, body, isStop }: { userId: string; body: object; isStop: boolean },
): Promise<Refusal | null> {
  const press = pressOf(body);
  const isStopButton = press?.actions.every(({ action_id: id }) => id === ACTIONS.stopTurn) === true;
  if (!isStop && !isStopButton) return whyRefused(deps, { userId, channelId: channelOf(body, userId) });
  const admission = await deps.directory.admission(userId);
  return admission === "admitted" ? null : { kind: admission };
}

const Home = z.union([
  z.object({ view: z.object({ type: z.literal("home") }), user: Person }),
  z.object({ event: z.object({ type: z.literal("app_home_opened"), tab: z.literal("home") }) }),
]);

/** True if somebody opened their Home tab, or pressed something in it. */
function isInHome(body: object): boolean {
  return ("view" in body || "event" in body) && Home.safeParse(body).success;
}

const Somewhere = z.object({
  channel_id: z.string().optional(),
  channel: z.object({ id: z.string() }).optional(),
  event: z.object({ channel: z.string().optional() }).optional(),
});

/**
 * The channel that something was done in, or null if it was done in a form. The Home tab counts as
 * direct messages, which a person's id names.
 */
function channelOf(body: object, userId: string): string | null {
  if (isInHome(body)) return userId;
  const { channel_id, channel, event } = Somewhere.safeParse(body).data ?? {};
  return channel_id ?? channel?.id ?? event?.channel ?? null;
}

/**
 * The person who sent a command or used a message, a menu or a form. Other payloads name nobody
 * here.
 */
const Actor = z.object({ user: Person.optional(), user_id: z.string().optional() });

/** The person who acted, or null if nobody did or it isn't a request. */
function actorOf(body: unknown, botUserId: string | undefined): string | null {
  // This order is for speed: a schema that doesn't fit takes longer than all others together, and
  // most payloads are commands.
  const { user, user_id } = Actor.safeParse(body).data ?? {};
  if (user !== undefined) return user.id;
  if (user_id !== undefined) return user_id;
  const event = Event.safeParse(body);
  return event.success && !isTalk(event.data, botUserId) ? event.data.event.user : null;
}

/**
 * True for messages among people. Most aren't for the app, and they are checked where they could
 * become a request (`thread-reply.ts`).
 */
function isTalk({ event }: z.infer<typeof Event>, botUserId: string | undefined): boolean {
  if (event.user === SLACKBOT_USER_ID) return true;
  if (event.type !== "message" || event.channel_type === "im") return false;
  return !mentionsApp(parseMessageText(event.text), botUserId);
}

const Presses = z.object({
  actions: z.array(z.object({ action_id: z.string(), url: z.string().optional() })).min(1),
});

/** The buttons that were pressed. Undefined if it is no press. */
function pressOf(body: object): z.infer<typeof Presses> | undefined {
  return "actions" in body ? Presses.safeParse(body).data : undefined;
}

/** True for a button that only opens a link, which Slack does by itself. */
function isHarmless(body: object): boolean {
  const press = pressOf(body);
  return press?.actions.every(({ url }) => url !== undefined) === true;
}

const Input = z.object({ type: z.literal("input"), block_id: z.string() });

/** The field where a form can show an error. */
function firstInput(blocks: readonly unknown[]): string | undefined {
  return blocks.map((block) => Input.safeParse(block).data?.block_id).find((id) => id !== undefined);
}

/** Tells the person alone, once. Only what they said to the app needs an answer. */
async function refuseEvent(deps: IntakeDeps, teamId: string, body: unknown, refusal: Refusal): Promise<void> {
  const parsed = Event.safeParse(body);
  if (!parsed.success) return;
  const { event } = parsed.data;
  const { channel, ts, thread_ts } = event;
  const isSaid = event.type === "app_mention" || event.type === "message";
  if (!isSaid || !SaidSubtype.safeParse(event.subtype).success || channel === undefined || ts === undefined)
    return;
  const place = { teamId, channelId: channel, threadTs: isReply(thread_ts, ts) ? thread_ts : null };
  const message = { kind: "refused", refusal } as const;
  const cause = causeOf({ teamId, channelId: channel, ts });
  await deps.queue.add(replyTask(cause, { ...place, userId: event.user, message }));
}
