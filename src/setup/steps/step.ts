import type { DoctorFinding } from "../../service/cli/finding.ts";
import type { Session } from "../session.ts";

/** One thing that a step asks for. */
export type StepField = {
  name: string;
  label: string;
  hint?: string;
  /** A secret is never shown, not even to whoever entered it. */
  kind: "text" | "secret" | "choice";
  choices?: readonly { value: string; label: string }[];
  /** What is filled in at first. Never a secret. */
  initial?: string;
  /** True if it may stay empty, because it was answered before or isn't needed. */
  isOptional?: boolean;
};

/** A sentence of a step, with a link or a text to copy beside it if there is one. */
export type StepWords = {
  text: string;
  link?: { label: string; url: string };
  paste?: { label: string; text: string };
};

/** What was entered, by the fields' names. Trimmed. */
export type StepValues = Readonly<Record<string, string>>;

/** A step of the setup, which the page and the terminal both show. */
export type SetupStep = {
  id: string;
  title: string;
  /** True if its answers are kept. */
  isDone: (session: Session) => boolean;
  words: (session: Session) => Promise<readonly StepWords[]>;
  fields: (session: Session) => readonly StepField[];
  /** The words on the button. */
  button: string;
  /**
   * Tries the answers, and says of each part what was found. Keeps them unless a finding is a
   * fault.
   */
  take: (values: StepValues, session: Session) => AsyncGenerator<DoctorFinding>;
};

/** Passes findings on. Resolves to true if none is a fault. */
export async function* passOn(
  findings: AsyncIterable<DoctorFinding> | Iterable<DoctorFinding>,
): AsyncGenerator<DoctorFinding, boolean> {
  let isFine = true;
  for await (const finding of findings) {
    if (finding.level === "fault") isFine = false;
    yield finding;
  }
  return isFine;
}

/** Something that was entered can't be used. */
export function entryFault(part: string, found: string, todo: string): DoctorFinding {
  return { of: "setup", part, level: "fault", tried: "read what was entered", found, todo };
}
