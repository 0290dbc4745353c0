import { createSystemClock } from "../../../system-clock.ts";
import { type ProcessGroup, startProcessGroup } from "../process-group.ts";
import { TailBuffer } from "../tail-buffer.ts";
import { closeInheritedFiles } from "./inherited-files.ts";
import { isStarterOrder, type RunProgram, type StartedProgram, type StarterNews } from "./starter-calls.ts";

const MAX_STDERR_BYTES = 8000;

type Running = { group: ProcessGroup; over: Promise<void> };

const clock = createSystemClock();
/** The service keeps the time of what it only has started: its clock may stand still. */
const timeless = { ...clock, wakeAt: () => () => {} };
const { signal } = new AbortController();
const running = new Map<number, Running>();

function tell(news: StarterNews): void {
  if (process.connected) process.send?.(news, undefined, {}, () => {});
}

function run(id: number, { stdin, ...program }: RunProgram): Running {
  const chunks: Buffer[] = [];
  const words = new TailBuffer(MAX_STDERR_BYTES);
  const group = startProcessGroup({
    ...program,
    inputs: [],
    clock,
    signal,
    onStdout: (chunk) => chunks.push(chunk),
    onStderr: (chunk) => words.add(chunk),
  });
  void group.started.then((pid) => tell({ kind: "started", id, pid }));
  group.stdin.end(stdin);
  const over = group.ended.then((ending) =>
    tell({ kind: "ran", id, ending, stdout: Buffer.concat(chunks), stderr: words.toString() }),
  );
  return { group, over };
}

function start(id: number, { inputs = [], ...program }: StartedProgram): Running {
  const group = startProcessGroup({
    ...program,
    inputs: inputs.map((input) => Buffer.from(input)),
    timeLimitMs: 0,
    clock: timeless,
    signal,
    // Nothing waits here for the service to read: as much as a process may write can.
    onStdout: (chunk) => tell({ kind: "wrote", id, to: "stdout", chunk }),
    onStderr: (chunk) => tell({ kind: "wrote", id, to: "stderr", chunk }),
  });
  void group.started.then((pid) => tell({ kind: "started", id, pid }));
  group.stdin.on("close", () => tell({ kind: "closed-input", id }));
  return { group, over: group.ended.then((ending) => tell({ kind: "ended", id, ending })) };
}

function begin(id: number, begun: Running): void {
  running.set(id, begun);
  void begun.over.then(() => running.delete(id));
}

closeInheritedFiles();
process.on("message", (order) => {
  if (!isStarterOrder(order)) return;
  const { id } = order;
  const group = running.get(id)?.group;
  switch (order.kind) {
    case "run":
      return begin(id, run(id, order.program));
    case "start":
      return begin(id, start(id, order.program));
    case "input":
      // One that failed is told of by its close.
      return void group?.stdin.write(order.chunk, (error) => {
        if (!error) tell({ kind: "took-input", id });
      });
    case "end-input":
      return void group?.stdin.end();
    case "stop":
      return void group?.stop();
    case "ask":
      return tell({ kind: "well", id });
  }
});
// Whoever stops the service may signal all its processes: what runs now is the service's to stop.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
// The service has ended, however that was.
process.on("disconnect", () => {
  const ends = [...running.values()].map(async ({ group, over }) => {
    await group.stop();
    await over;
  });
  void Promise.all(ends).then(() => process.exit());
});
