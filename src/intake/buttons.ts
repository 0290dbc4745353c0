import { createHash } from "node:crypto";
import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import type { Request } from "../core/request.ts";
import type { Turn } from "../core/turn.ts";
import { KEEP_WATCHING, TRY_AGAIN, VIEW_PULL_REQUEST, parseButtonValue } from "../replies/actions.ts";
import { openTask } from "../tasks/open.ts";
import { resumeTask } from "../tasks/resume.ts";
import type { IntakeDeps } from "./deps.ts";

const TOO_OLD =
  "I no longer have that request: records are kept for a limited time. Ask again with `/docs-agent`.";
const NOT_KEPT = "I could not store that, so nothing was started. Press the button again in a minute.";

/** The buttons of outcome messages. */
export function registerButtons(app: App, deps: IntakeDeps): void {
  // A button with a URL is opened by Slack itself, which still expects an ack.
  app.action(VIEW_PULL_REQUEST, async ({ ack }) => {
    await ack();
  });

  app.action<BlockAction<ButtonAction>>(TRY_AGAIN, async ({ ack, action, body, respond }) => {
    const reply = await press(deps, action.value, async (turn, watch) => {
      const added = await deps.queue.add(openTask(tryAgain(turn, watch, body, deps.clock.now())));
      return added ? null : "Someone has already tried this again: see the thread.";
    });
    await ack();
    if (reply !== null) await respond({ text: reply, response_type: "ephemeral", replace_original: false });
  });

  app.action<BlockAction<ButtonAction>>(KEEP_WATCHING, async ({ ack, action, respond }) => {
    const reply = await press(deps, action.value, async (turn, watch) => {
      const added = await deps.queue.add(resumeTask(turn, watch));
      return added ? null : "I am already watching this job again.";
    });
    await ack();
    if (reply !== null) await respond({ text: reply, response_type: "ephemeral", replace_original: false });
  });
}

async function press(
  deps: IntakeDeps,
  value: string | undefined,
  accept: (turn: Turn, watch: number) => Promise<string | null>,
): Promise<string | null> {
  const pressed = parseButtonValue(value);
  if (pressed === null) return TOO_OLD;
  try {
    const turn = await deps.turns.get(pressed.turnId);
    return turn === undefined ? TOO_OLD : await accept(turn, pressed.watch);
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept a button");
    return NOT_KEPT;
  }
}

/** The same request once more, by whoever pressed the button, in the thread the button is in. */
function tryAgain(turn: Turn, watch: number, body: BlockAction, now: number): Request {
  const { container } = body;
  const threadTs = body.message?.thread_ts ?? container.thread_ts ?? body.message?.ts ?? null;
  return {
    ...turn.request,
    // Of one length, however often a request is tried again.
    id: `again:${createHash("sha256").update(`${turn.id}\n${watch}`).digest("hex").slice(0, 32)}`,
    from: "try-again",
    channelId: body.channel?.id ?? turn.thread.channelId,
    threadTs,
    userId: body.user.id,
    responseUrl: body.response_url ?? null,
    receivedAt: now,
  };
}
