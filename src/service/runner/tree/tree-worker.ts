import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../../errors.ts";
import { TurnFailedError } from "../run-error.ts";
import type { TreeAnswer, TreeCall, TreeCalls, TreePlace } from "./tree-calls.ts";
import { WorkTree } from "./work-tree.ts";

const place: TreePlace = workerData;
const tree = new WorkTree(place.root, place.aside);

/** Whoever waits for an answer over HTTP goes first. */
function yieldToOthers(): void {
  try {
    // On Linux a priority is a thread's, and this is the thread's id.
    const thread = /\d+$/.exec(readlinkSync("/proc/thread-self"));
    if (thread) setPriority(Number(thread[0]), constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Elsewhere it is only less polite.
  }
}

async function answerTo(call: TreeCall): Promise<TreeCalls[keyof TreeCalls]["output"]> {
  switch (call.name) {
    case "open":
      return tree.open(call.listing, call.kept);
    case "complete":
      return tree.complete(call.targets);
    case "scan":
      return tree.scan(call.docs);
    case "select":
      return tree.select(call.docs, call.ignored, call.secrets, call.copies);
    case "nextIndex":
      return tree.nextIndex(call.oids);
    case "keep":
      return tree.keep(call.kept);
  }
}

yieldToOthers();
parentPort?.on("message", (call: TreeCall) => {
  void answerTo(call).then(
    (output) => parentPort?.postMessage({ isDone: true, output } satisfies TreeAnswer),
    (error: unknown) => {
      const isTurns = error instanceof TurnFailedError;
      parentPort?.postMessage({ isDone: false, problem: messageOf(error), isTurns } satisfies TreeAnswer);
    },
  );
});
