import { Writable } from "node:stream";
import { type Ending, killGroup, type ProcessGroup, type ProcessOptions } from "../process-group.ts";
import type { StarterNews, StarterOrder } from "./starter-calls.ts";

/** What becomes of the news of a process. */
export type Ordered = {
  take: (news: StarterNews) => void;
  /** To be called when the process that starts it has ended. */
  lose: (problem: string) => void;
};

/** Orders a program to be started, and is the service's side of it. Its time is kept here, by the clock of `options`. */
export function orderGroup(
  id: number,
  options: ProcessOptions,
  tell: (order: StarterOrder) => void,
): { group: ProcessGroup } & Ordered {
  const { command, args, cwd, env, inputs, maxOutputBytes, clock, signal } = options;
  const { promise: started, resolve: start } = Promise.withResolvers<number | undefined>();
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  let pid: number | undefined;
  let isStopping = false;
  let reason: Ending | undefined;
  let taken: () => void = () => {};

  const stdin = new Writable({
    // No more than one is on its way: what an agent doesn't read waits here, where it is seen.
    write(chunk: Buffer, _encoding, done) {
      taken = done;
      tell({ kind: "input", id, chunk });
    },
    final(done) {
      tell({ kind: "end-input", id });
      done();
    },
  });
  // What the process does not read is no fault of ours; its end is reported below.
  stdin.on("error", () => {});

  /** `why` is left out where the other side knows best: it may have ended by itself meanwhile. */
  function stop(why?: Ending): void {
    if (isStopping) return;
    isStopping = true;
    reason = why;
    tell({ kind: "stop", id });
  }
  const stopLimit = clock.wakeAt(clock.now() + options.timeLimitMs, () => stop({ kind: "time-limit" }));
  const onAbort = () => stop({ kind: "stopped" });
  signal.addEventListener("abort", onAbort, { once: true });
  tell({ kind: "start", id, program: { command, args, cwd, env, inputs, maxOutputBytes } });
  if (signal.aborted) onAbort();

  function finish(ending: Ending): void {
    stopLimit();
    signal.removeEventListener("abort", onAbort);
    stdin.destroy();
    start(pid);
    end(reason ?? ending);
  }

  const group: ProcessGroup = {
    started,
    stdin,
    ended,
    stop() {
      stop();
      return ended;
    },
  };
  return {
    group,
    take(news) {
      switch (news.kind) {
        case "started":
          ({ pid } = news);
          return start(pid);
        case "wrote": {
          const { buffer, byteOffset, byteLength } = news.chunk;
          const chunk = Buffer.from(buffer, byteOffset, byteLength);
          return news.to === "stdout" ? options.onStdout(chunk) : options.onStderr(chunk);
        }
        case "took-input":
          return taken();
        case "closed-input":
          return void stdin.destroy();
        case "ended":
          return finish(news.ending);
        case "ran":
        case "well":
          return undefined;
      }
    },
    lose(problem) {
      if (pid === undefined) return finish({ kind: "lost", problem });
      void killGroup(pid).then(() => finish({ kind: "lost", problem }));
    },
  };
}
