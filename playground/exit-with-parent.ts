/**
 * Loaded with `--import` into the programs of the playground: asks the program to stop when the
 * playground is gone, however it went. The playground holds the other end of the standard input,
 * which the operating system closes with it.
 */
import process from "node:process";

process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
process.stdin.unref();
