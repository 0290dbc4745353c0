import type {
  ReadTextFileRequest,
  ReadTextFileResponse,
  WriteTextFileRequest,
  WriteTextFileResponse,
} from "@agentclientprotocol/sdk";
import { RequestError } from "@agentclientprotocol/sdk";
import { isAbsolute } from "node:path";
import { isInside, OutsideTreeError } from "../confined-files.ts";
import type { AgentRun } from "./agent.ts";
import type { AnswerGate } from "./answer-gate.ts";

const MAX_FILE_BYTES = 10 * 1024 * 1024;
const TIME_LIMIT_MS = 10_000;
const NO_FILE = 3;

/** $1: the file, $2: how many bytes at most */
const READ = `[ -f "$1" ] || exit ${NO_FILE}; exec head -c "$2" -- "$1"`;
/** $1: the file */
const WRITE = `mkdir -p -- "\${1%/*}" || exit; [ ! -e "$1" ] || [ -f "$1" ] || exit ${NO_FILE}; cat > "$1"`;

/**
 * The protocol's file methods, for regular files in the tree. They run in the agent's sandbox, so that no link leads them to where the agent
 * itself could not go. What was taken before the gate closes is done to its end: half a file must not be committed.
 */
export function createAcpFiles(
  run: Pick<AgentRun, "sandbox" | "start" | "clock" | "signal">,
  gate: AnswerGate,
) {
  async function inSandbox(script: string, path: string, args: string[], input: string): Promise<Buffer> {
    const { sandbox, start, clock, signal } = run;
    signal.throwIfAborted();
    if (!isAbsolute(path)) throw RequestError.invalidParams(undefined, "The path must be absolute");
    if (path.includes("\0") || !isInside(sandbox.inside.tree, path)) {
      throw refused("The path leads out of the tree");
    }
    const chunks: Buffer[] = [];
    const group = start({
      ...sandbox.contain(
        { command: "/bin/sh", args: ["-c", script, "sh", path, ...args] },
        { isTreeOnly: true },
      ),
      timeLimitMs: TIME_LIMIT_MS,
      maxOutputBytes: 2 * MAX_FILE_BYTES,
      clock,
      signal,
      onStdout: (chunk) => void chunks.push(chunk),
      onStderr: () => {},
    });
    group.stdin.end(input);
    const ending = await group.ended;
    if (ending.kind === "exited" && ending.code === 0) return Buffer.concat(chunks);
    if (ending.kind === "exited" && ending.code === NO_FILE) throw refused("That is no regular file");
    // What the system says would tell about the machine.
    throw RequestError.resourceNotFound(path);
  }

  return {
    async read({ path, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
      const bytes = await gate.run(() => inSandbox(READ, path, [String(MAX_FILE_BYTES + 1)], ""));
      if (bytes.length > MAX_FILE_BYTES) throw refused("The file is too large");
      const content = bytes.toString("utf8");
      if (typeof line !== "number" && typeof limit !== "number") return { content };
      const lines = content.split("\n");
      const from = Math.max(0, (line ?? 1) - 1);
      return { content: lines.slice(from, from + (limit ?? lines.length)).join("\n") };
    },

    async write({ path, content }: WriteTextFileRequest): Promise<WriteTextFileResponse> {
      if (Buffer.byteLength(content) > MAX_FILE_BYTES) throw refused("The content is too large");
      await gate.run(() => inSandbox(WRITE, path, [], content));
      return {};
    },
  };
}

function refused(what: string): RequestError {
  return RequestError.invalidParams(undefined, new OutsideTreeError(what).message);
}
