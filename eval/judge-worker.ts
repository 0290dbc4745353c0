// Judges one solution in a thread of its own, for judge-apart.ts.
import { parentPort, workerData } from "node:worker_threads";
import { patchOf } from "./files.ts";
import { judge } from "./judge.ts";
import type { Judged, ToJudge } from "./judge-apart.ts";

/** Makes buffers again, because they arrive as plain arrays of bytes. */
function asBuffers(files: ReadonlyMap<string, Uint8Array>): Map<string, Buffer> {
  return new Map([...files].map(([path, content]) => [path, Buffer.from(content)]));
}

const given: ToJudge = workerData;
const base = asBuffers(given.base);
const result = asBuffers(given.result);
const verdicts = await judge({ ...given, base }, { result, words: given.words });
parentPort?.postMessage({ verdicts, patch: patchOf(base, result) } satisfies Judged);
