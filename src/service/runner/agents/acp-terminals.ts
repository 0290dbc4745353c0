import type {
  CreateTerminalRequest,
  CreateTerminalResponse,
  TerminalExitStatus,
  TerminalOutputResponse,
} from "@agentclientprotocol/sdk";
import { RequestError } from "@agentclientprotocol/sdk";
import { isInside } from "../confined-files.ts";
import type { Ending, ProcessGroup } from "../process-group.ts";
import { TailBuffer } from "../tail-buffer.ts";
import type { AgentRun } from "./agent.ts";

type Terminal = { group: ProcessGroup; output: TailBuffer; ended: Ending | undefined };

const MAX_TERMINALS = 32;
const MAX_KEPT_BYTES = 1024 * 1024;

/** The protocol's terminal methods: programs that an agent starts through us, held in the same way as the agent itself. */
export class AcpTerminals {
  readonly #run: AgentRun;
  readonly #terminals = new Map<string, Terminal>();
  #started = 0;
  #isClosed = false;

  constructor(run: AgentRun) {
    this.#run = run;
  }

  create(request: CreateTerminalRequest): CreateTerminalResponse {
    const { sandbox, settings, env, start, clock, signal } = this.#run;
    if (this.#isClosed) throw RequestError.invalidParams(undefined, "The turn is over");
    if (this.#terminals.size >= MAX_TERMINALS) {
      throw RequestError.invalidParams(
        undefined,
        `There are ${MAX_TERMINALS} terminals already; release one`,
      );
    }
    const { tree } = sandbox.inside;
    const cwd = request.cwd ?? tree;
    if (cwd !== tree && !isInside(tree, cwd)) {
      throw RequestError.invalidParams(undefined, "The working directory lies outside the tree");
    }
    const keptBytes = Math.min(request.outputByteLimit ?? MAX_KEPT_BYTES, MAX_KEPT_BYTES);
    // Its limits are set in the sandbox, by a program that these would change.
    const extra = (request.env ?? [])
      .filter(({ name }) => !/^(?:LD_|GLIBC_)/.test(name))
      .map(({ name, value }) => [name, value] as const);
    const output = new TailBuffer(keptBytes);
    const group = start({
      ...sandbox.contain(
        { command: request.command, args: request.args ?? [] },
        { cwd, env: { ...env, ...Object.fromEntries(extra) } },
      ),
      timeLimitMs: settings.timeLimitMs,
      maxOutputBytes: settings.maxOutputBytes,
      clock,
      signal,
      onStdout: (chunk) => output.add(chunk),
      onStderr: (chunk) => output.add(chunk),
    });
    const terminal: Terminal = { group, output, ended: undefined };
    group.stdin.end();
    void group.ended.then((ending) => (terminal.ended = ending));
    const terminalId = `terminal-${++this.#started}`;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }

  output(terminalId: string): TerminalOutputResponse {
    const { output, ended } = this.#find(terminalId);
    return {
      output: output.toString(),
      truncated: output.isCut,
      ...(ended ? { exitStatus: statusOf(ended) } : {}),
    };
  }

  async exit(terminalId: string): Promise<TerminalExitStatus> {
    return statusOf(await this.#find(terminalId).group.ended);
  }

  async kill(terminalId: string): Promise<void> {
    await this.#find(terminalId).group.stop();
  }

  async release(terminalId: string): Promise<void> {
    await this.#find(terminalId).group.stop();
    // Not before: what still ends is one of those that `close` waits for.
    this.#terminals.delete(terminalId);
  }

  /** Starts nothing more, and ends all that still run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#terminals.values()].map(({ group }) => group.stop()));
    this.#terminals.clear();
  }

  #find(terminalId: string): Terminal {
    const terminal = this.#terminals.get(terminalId);
    if (!terminal) throw RequestError.invalidParams(undefined, "There is no such terminal");
    return terminal;
  }
}

function statusOf(ending: Ending): TerminalExitStatus {
  if (ending.kind === "exited") return { exitCode: ending.code, signal: ending.signal };
  return { exitCode: null, signal: "SIGKILL" };
}
