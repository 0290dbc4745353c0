import { runCommand } from "../shared/machine/command-line.ts";
import { createDoctorProgram } from "./program.ts";

await runCommand(process.env, createDoctorProgram);
