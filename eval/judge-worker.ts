// Judges one solution in a thread of its own, for judge-apart.ts.
import { parentPort, workerData } from "node:worker_threads";
import { patchOf } from "./files.ts";
import { judge } from "./judge.ts";
import type { Judged, ToJudge } from "./judge-apart.ts";

/** Makes buffers again, because they arrive as plain arrays of bytes. */
function asBuffers(files: ReadonlyMap<string, Uint8Array>): Map<string, Buffer> {
  return new Map([...files].map(([path, content]) => [path, Buffer.from(content)]));
}

const { task, solution }: ToJudge = workerData;
const base = asBuffers(task.base);
const result = asBuffers(solution.result);
const right = task.right && asBuffers(task.right);
const contexts = new Map([...task.contexts].map(([name, files]) => [name, asBuffers(files)]));
const verdicts = await judge({ ...task, base, right, contexts }, { ...solution, result });
parentPort?.postMessage({ verdicts, patch: patchOf(base, result) } satisfies Judged);
