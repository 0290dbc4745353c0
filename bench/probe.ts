/**
 * Loaded into a measured program with `--import`: tells its memory when asked, and ends it when the bench is gone, however
 * that ended. The program itself knows nothing of it.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

process.on("message", () => {
  // First, as collecting changes it.
  const rssBytes = process.memoryUsage.rss();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
  process.send?.({ rssBytes, liveHeapBytes: process.memoryUsage().heapUsed });
});
process.on("disconnect", () => process.exit(1));
// The channel alone must not keep the program alive.
process.channel?.unref();
