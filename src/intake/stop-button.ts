import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { maySteer } from "../core/steering.ts";
import { stopTurn } from "../core/stop.ts";
import type { Decision, Plan } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { STOP_TURN, parseButtonValue } from "../replies/actions.ts";
import type { ButtonValue } from "../replies/actions.ts";
import { tasksAfterEnd } from "../tasks/after-end.ts";
import { cancelTask } from "../tasks/cancel.ts";
import { overdueTasks } from "../tasks/overdue.ts";
import { refreshTask } from "../tasks/refresh.ts";
import { shownBy, turnWrites } from "../tasks/turn-writes.ts";
import type { IntakeDeps } from "./deps.ts";
import { sayNotAllowed } from "./not-allowed.ts";
import { FINISHED, alreadyDone, press, privately, tooOld } from "./press.ts";

/** **Stop** in a status message, or in the notice that a turn is overdue: every turn that the message shows and that has not ended. */
export function registerStopButton(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(STOP_TURN, async ({ ack, action, body, respond }) => {
    const notAllowed: { requesterId?: string } = {};
    const said = await press(deps, parseButtonValue(action.value), async (pressed) => {
      const stopped = await deps.queue.commit(stopping(deps, pressed, body));
      if (typeof stopped === "string" || stopped === null) return stopped;
      notAllowed.requesterId = stopped.only;
      return null;
    });
    await ack();
    if (said !== null) await respond(privately(said, body));
    if (notAllowed.requesterId !== undefined) await sayNotAllowed(deps, body, notAllowed.requesterId);
  });
}

/** What to say to whoever pressed; null: the message says it. `only`: who alone may. */
function stopping(
  deps: IntakeDeps,
  { turnId }: ButtonValue,
  body: BlockAction,
): Decision<string | null | { only: string }> {
  const userId = body.user.id;
  return (read): Plan<string | null | { only: string }> => {
    const host = read("turn", turnId);
    if (host === undefined) return { value: tooOld(deps) };
    const shown = shownBy(read, host);
    const open = shown.filter(({ stage }) => stage.name !== "ended");
    const [first] = open;
    if (first === undefined) return { value: stoppedAlready(shown, body) ?? FINISHED };
    const own = open.filter((turn) => maySteer(deps.followUps, turn, userId));
    if (own.length === 0) return { value: { only: first.request.userId } };
    const running = own.filter(({ stop }) => stop === undefined);
    const before = own.find(({ stop }) => stop !== undefined)?.stop;
    if (running.length === 0 && before !== undefined) return { value: alreadyDone(before.userId, body) };
    const at = deps.clock.now();
    const stopped = running.map((turn) => stopTurn(turn, { userId, at }));
    return {
      writes: stopped.flatMap((turn) => turnWrites(deps, read, turn)),
      adds: [
        ...stopped.flatMap(tasksAfterEnd),
        ...stopped.flatMap(overdueTasks),
        ...stopped.flatMap((turn) => (turn.stage.name === "watching" ? [cancelTask(turn)] : [])),
        refreshTask(host),
      ],
      value: null,
    };
  };
}

/** Where the newest turn ended because somebody stopped it. */
function stoppedAlready(shown: readonly Turn[], body: BlockAction): string | null {
  const stage = shown.at(-1)?.stage;
  const stoppedBy = stage?.name === "ended" ? stage.outcome.stoppedBy : undefined;
  return stoppedBy === undefined ? null : alreadyDone(stoppedBy, body);
}
