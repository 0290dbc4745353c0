import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes the files that whoever started the service left open in it: a program that is started here
 * would have them as well. What Node.js opens itself closes in programs, and stays. Only on Linux.
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
    // It was the one that the folder was read through.
    return false;
  }
}
