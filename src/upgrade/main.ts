import { runCommand } from "../shared/machine/command-line.ts";
import { createUpgradeProgram } from "./program.ts";

await runCommand(process.env, createUpgradeProgram);
