import { lineText } from "../commands/show.ts";
import type { StartFinding } from "../../shared/machine/ports.ts";

/** One thing that the doctor tried. */
export type DoctorFinding = {
  /** What it belongs to: `app`, `service` or `machine`. */
  of: string;
  part: string;
  level: "ok" | "warn" | "fault";
  /** What was done to find it out. */
  tried: string;
  found: string;
  /** What to do about it. Null if nothing is to be done, or `found` says it. */
  todo: string | null;
};

/** Splits a text into what is the case, its first sentence, and what to do, the others. */
export function splitAdvice(text: string): Pick<DoctorFinding, "found" | "todo"> {
  const [, found = text, todo] = /^(.+?[.!?])\s+(?=\p{Lu})(.+)$/su.exec(text) ?? [];
  return { found, todo: todo ?? null };
}

const LEVELS = { ok: "ok", warn: "warn", FAULT: "fault" } as const satisfies Record<
  StartFinding["level"],
  DoctorFinding["level"]
>;

/** What a check of a start found, as the doctor tells it. */
export function asDoctorFinding(of: string, tried: string, finding: StartFinding): DoctorFinding {
  const { level, name: part, found } = finding;
  const said = level === "ok" ? { found, todo: null } : splitAdvice(found);
  return { of, part, level: LEVELS[level], tried, ...said };
}

/**
 * A finding in words for a terminal: one line if all is well. What others wrote, such as an agent's
 * words, can't act on it.
 */
export function findingText({ of, part, level, tried, found, todo }: DoctorFinding): string {
  const verdict = (level === "fault" ? "FAULT" : level).padEnd(5);
  const head = `${verdict}  ${of}  ${lineText(part)}: ${lineText(found)}`;
  const how = `tried: ${lineText(tried)}`;
  if (level === "ok") return `${head} (${how})\n`;
  return `${head}\n       ${how}\n${todo === null ? "" : `       to do: ${lineText(todo)}\n`}`;
}

/** A setting that is missing or wrong. */
export function settingFault(of: string, tried: string, fault: string): DoctorFinding {
  return { of, part: "settings", level: "fault", tried, ...splitAdvice(fault) };
}

/** The last line of a check: how many faults and warnings there were. */
export function closingWords(findings: readonly DoctorFinding[]): string {
  const [faults = 0, warnings = 0] = (["fault", "warn"] as const).map(
    (level) => findings.filter((each) => each.level === level).length,
  );
  const beside = warnings === 0 ? "" : ` (${warnings === 1 ? "one warning" : `${warnings} warnings`})`;
  if (faults === 0) return `All is well${beside}.\n`;
  return `Fix ${faults === 1 ? "one fault" : `${faults} faults`}${beside}.\n`;
}
