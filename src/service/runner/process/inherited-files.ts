import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes files that the service inherited. Programs that are started here would inherit them, too.
 * The files that Node.js opens itself close automatically in programs, so they stay. Only on Linux.
 */
export function closeInheritedFiles(): void {
  for (const name of namesIn("/proc/self/fd")) {
    const file = Number(name);
    if (file > 2 && staysOpen(file)) closeSync(file);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function staysOpen(file: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, "utf8")) ?? [];
    return flags !== "" && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // This was the descriptor that the folder was read through.
    return false;
  }
}
