// Carries out readers, one call after the other; see apart.ts. Its argument is the id of the
// process that started it.
import { once } from "node:events";
import { deserialize, serialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../../../shared/errors.ts";
import { type Redact, redactForms } from "../../../base/redaction.ts";
import type { ReaderCall, Reply } from "./apart.ts";
import { type InputOf, type ReaderName, APART_READERS, type ResultOf } from "./readers.ts";
import { programFile } from "../../../../shared/machine/this-copy.ts";

/** Of a result, because it gets into the memory of the process that asked. */
const MAX_RESULT_BYTES = 16 * 1024 ** 2;

const readers: { [Name in ReaderName]: (input: InputOf<Name>, redact: Redact) => ResultOf<Name> } =
  APART_READERS;

function replyTo({ name, input, secrets }: ReaderCall): Reply {
  try {
    const result = serialize(readers[name](deserialize(input), redactForms(secrets)));
    if (result.length <= MAX_RESULT_BYTES) return { kind: "read", result };
    return { kind: "too-much", why: `${result.length} bytes of result` };
  } catch (error) {
    // The text is longer than any can be, or nested deeper than the stack.
    const kind = error instanceof RangeError ? "too-much" : "failed";
    return { kind, why: messageOf(error) };
  }
}

// Whoever stops the service may signal all its processes. The runner decides when this one ends.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
process.on("disconnect", () => process.exit());
// While this thread is busy, it doesn't hear that.
const watch = new Worker(programFile("./watch-parent", import.meta.url), {
  workerData: Number(process.argv[2]),
});
await once(watch, "online");
watch.unref();
process.on("message", (call: ReaderCall) => process.send?.(replyTo(call)));
process.send?.({ kind: "ready" } satisfies Reply);
