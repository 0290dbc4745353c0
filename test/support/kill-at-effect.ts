/**
 * A module that the real program loads with `--import`. It ends the process with SIGKILL right
 * before or right after its nth effect outside: another name for a file, or a call of systemctl.
 */
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import process from "node:process";

const [phase, number] = (process.env["KILL_AT_EFFECT"] ?? "never:0").split(":");
const target = Number(number);
let effects = 0;

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

const { renameSync } = fs;
fs.renameSync = (from, to) => {
  effects += 1;
  if (effects === target && phase === "before") die();
  renameSync(from, to);
  if (effects === target && phase === "after") die();
};

const { spawn } = childProcess;
childProcess.spawn = ((command: string, args: string[], options: object) => {
  const isControl = command === "systemctl" && ["start", "stop"].includes(args[0] ?? "");
  if (isControl) effects += 1;
  if (isControl && effects === target && phase === "before") die();
  const child = spawn(command, args, options);
  if (isControl && effects === target && phase === "after") child.once("close", die);
  return child;
}) as typeof spawn;
syncBuiltinESMExports();
