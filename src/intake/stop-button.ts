import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { maySteer } from "../core/steering.ts";
import { stopTurn } from "../core/stop.ts";
import type { Decision, Plan } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { STOP_TURN, buttonValue } from "../replies/actions.ts";
import type { ButtonValue } from "../replies/actions.ts";
import { FINISHED } from "../replies/short-answers.ts";
import { changesOf } from "../tasks/after-change.ts";
import { cancelTask } from "../tasks/cancel.ts";
import { refreshTask } from "../tasks/refresh.ts";
import { shownBy } from "../tasks/turn-writes.ts";
import type { IntakeDeps } from "./deps.ts";
import { alreadyDone, takePress, tooOld } from "./press.ts";
import type { PressAnswer } from "./press.ts";

/** **Stop** in a status message, or in the notice that a turn is overdue: every turn that the message shows and that has not ended. */
export function registerStopButton(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(STOP_TURN, (press) =>
    takePress(deps, press, buttonValue.read(press.action.value), (pressed) =>
      deps.queue.commit(stopping(deps, pressed, press.body)),
    ),
  );
}

function stopping(deps: IntakeDeps, { turnId }: ButtonValue, body: BlockAction): Decision<PressAnswer> {
  const userId = body.user.id;
  return (read): Plan<PressAnswer> => {
    const host = read("turn", turnId);
    if (host === undefined) return { value: tooOld(deps) };
    const shown = shownBy(read, host);
    const open = shown.filter(({ stage }) => stage.name !== "ended");
    const [first] = open;
    if (first === undefined) return { value: stoppedAlready(shown, body) ?? FINISHED };
    const own = open.filter((turn) => maySteer(deps.followUps, turn, userId));
    if (own.length === 0) {
      return { value: { kind: "not-allowed", requesterId: first.request.userId } };
    }
    const running = own.filter(({ stop }) => stop === undefined);
    const before = own.find(({ stop }) => stop !== undefined)?.stop;
    if (running.length === 0 && before !== undefined) return { value: alreadyDone(before.userId, body) };
    const at = deps.clock.now();
    const logger = deps.logger.child({ turn: turnId });
    const stopped = running.map((turn) => stopTurn(turn, { userId, at }));
    const { next, writes, adds } = changesOf({ ...deps, logger }, read, stopped);
    return {
      writes,
      adds: [
        ...adds,
        ...next.flatMap((turn) => (turn.stage.name === "watching" ? [cancelTask(turn)] : [])),
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
