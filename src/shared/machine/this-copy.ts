import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** `.ts` in a clone, which runs TypeScript as it is, and `.js` in the package. */
const ENDING = extname(import.meta.url);

/** True if this copy is the package. False in a clone. */
export const isPackage = ENDING === ".js";

/** The programs that people start. */
export type ProgramName =
  | "start"
  | "service"
  | "runner"
  | "setup"
  | "doctor"
  | "state"
  | "playground"
  | "upgrade";

/**
 * The path of a file that another process or thread runs, named without its ending and relative to
 * the module whose `import.meta.url` is `from`.
 */
export function programFile(name: string, from: string): string {
  return fileURLToPath(new URL(`${name}${ENDING}`, from));
}

/**
 * The command by which people start a program of this copy: `npm run doctor` in a clone, and
 * `docs-agent-slack doctor` from the package.
 */
export function commandOf(program: ProgramName, args?: string): string {
  return args === undefined ? named(program) : `${beforeOptions(program)} ${args}`;
}

/** The same, as it is when options follow: `npm run doctor --` in a clone. */
export function beforeOptions(program: ProgramName): string {
  return isPackage ? named(program) : `${named(program)} --`;
}

function named(program: ProgramName): string {
  if (isPackage) return `docs-agent-slack ${program}`;
  return program === "start" ? "npm start" : `npm run ${program}`;
}
