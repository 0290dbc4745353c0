/**
 * A module for programs that another one manages, loaded with `--import`. It asks the program to
 * stop when its parent has ended in any way. The parent holds the other end of the standard input,
 * and the operating system then closes that.
 */
import process from "node:process";

process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
process.stdin.unref();
