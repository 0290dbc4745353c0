import { runAsCommand } from "../shared/machine/command-line.ts";
import { createUpgradeProgram } from "./program.ts";

await runAsCommand(process.env, createUpgradeProgram);
