import { runAsCommand } from "../shared/machine/command-line.ts";
import { createDoctorProgram } from "./program.ts";

await runAsCommand(process.env, createDoctorProgram);
