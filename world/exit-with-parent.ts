/**
 * Loaded with `--import` into programs that another one manages: asks the program to stop when its
 * parent is gone, however it went. The parent holds the other end of the standard input, which the
 * operating system closes with it.
 */
import process from "node:process";

process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
process.stdin.unref();
