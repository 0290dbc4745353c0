import { redactedLine } from "../../base/printable-text.ts";
import type { AgentSession } from "../workspace/kept-sessions.ts";
import type { TurnSandbox } from "../workspace/sandbox/sandbox.ts";
import type { ServiceProject } from "../../config/config.ts";
import type { TurnContext, RunnerTurn } from "../turn-context.ts";
import type { PlacedAttachment } from "./attachments.ts";
import type { Brief } from "./brief.ts";

/** One run of an agent in a tree. */
export type AgentRun = {
  settings: ServiceProject["agent"];
  attachments: readonly PlacedAttachment[];
  /**
   * A kept session of an earlier turn, or of this turn's first round. Its files are in `HOME`. Null
   * if none was kept.
   */
  kept: AgentSession | null;
  /** What the project's checks found in the first round's work. Empty in the first round. */
  findings: string;
  brief: Brief;
  /** Where it finds the context repositories, or null if there are none. */
  contextFolder: string | null;
  sandbox: TurnSandbox;
  /** The whole environment, except what the sandbox adds. */
  env: Readonly<Record<string, string>>;
  /** Called with everything that the agent is told. */
  onBrief: (brief: string) => void;
  /** Called with the process group, so that it can be found after a crash. */
  onStarted: (pid: number) => Promise<void>;
} & Pick<RunnerTurn, "number" | "kind" | "prompt" | "earlierTurns" | "material" | "othersChanges"> &
  Pick<TurnContext, "clock" | "logger" | "signal" | "redact" | "apart" | "report" | "ask">;

/**
 * The folders besides the tree where an agent may read or write: the one with attachments and
 * sources, and the context repositories.
 */
export function foldersBesideTree({ sandbox, contextFolder }: AgentRun): string[] {
  return [sandbox.inside.tmp, ...(contextFolder === null ? [] : [contextFolder])];
}

/** How an agent that didn't fail ended. Texts are bounded and redacted. */
export type AgentResult = {
  /** Its own summary, if it gave one. */
  summary: string | null;
  /** What it asked for and was refused. */
  refused: string[];
  /**
   * What its next turn can resume, together with the files in `HOME`. Null if it doesn't offer
   * that.
   */
  session: AgentSession | null;
};

/**
 * Runs the agent to its end. Rejects with a `TurnFailedError` if the agent failed, with a
 * `TransientRunError` if it couldn't begin with the kept session, and with the signal's reason if
 * aborted. In any case, the whole process group is gone.
 */
export type RunAgent = (run: AgentRun) => Promise<AgentResult>;

/** The most characters of a summary that are kept. */
export const MAX_SUMMARY_LENGTH = 8000;

const MAX_LINE_LENGTH = 300;
const MAX_LINES = 1000;
/** A line that never ends is passed on in parts. */
const MAX_PENDING_LENGTH = 4000;

/**
 * Passes on an agent's text as lines, limited in length and number, without control characters and
 * secrets.
 */
export class ProgressLines {
  readonly #run: Pick<AgentRun, "report" | "redact">;
  #pending = "";
  #lines = 0;

  constructor(run: Pick<AgentRun, "report" | "redact">) {
    this.#run = run;
  }

  /** Adds text, which may end in the middle of a line. */
  write(text: string): void {
    this.#pending += text;
    const lines = this.#pending.split("\n");
    this.#pending = lines.pop() ?? "";
    for (const line of lines) this.#emit(line);
    if (this.#pending.length > MAX_PENDING_LENGTH) this.flush();
  }

  /** Adds a whole line. */
  line(text: string): void {
    this.flush();
    this.#emit(text);
  }

  flush(): void {
    const rest = this.#pending;
    this.#pending = "";
    this.#emit(rest);
  }

  #emit(text: string): void {
    if (this.#lines >= MAX_LINES) return;
    const line = redactedLine(this.#run.redact, text, MAX_LINE_LENGTH);
    if (line === "") return;
    this.#lines += 1;
    this.#run.report({ lines: [this.#lines === MAX_LINES ? "… (no more progress is kept)" : line] });
  }
}
