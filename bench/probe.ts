/**
 * Loaded into a measured program with `--import`: tells its memory when asked, and ends it when the bench is gone, however
 * that ended. The program itself knows nothing of it.
 */
import process from "node:process";

process.on("message", () => {
  process.send?.({ rssBytes: process.memoryUsage.rss() });
});
process.on("disconnect", () => process.exit(1));
// The channel alone must not keep the program alive.
process.channel?.unref();
