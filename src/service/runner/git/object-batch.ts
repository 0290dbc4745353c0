import type { SafeGit } from "./git.ts";
import { GitError } from "./git-fault.ts";

/** Takes one object: told its size, then its bytes in pieces, then that it is complete. */
export type ObjectSink = {
  begin(index: number, sizeBytes: number): void;
  chunk(bytes: Buffer, index: number): void;
  end(): void;
};

const LINE_FEED = 0x0a;
const MAX_HEADER_BYTES = 200;

/**
 * Reads many objects with one process (`git cat-file --batch`), in the order of `oids`, without holding any of them whole.
 * Sinks are synchronous: there is no queue to grow.
 */
export async function readObjects(
  git: SafeGit,
  gitDir: string,
  oids: readonly string[],
  sink: ObjectSink,
  signal: AbortSignal,
): Promise<void> {
  if (oids.length === 0) return;
  let header = Buffer.alloc(0);
  let leftBytes = -1;
  let index = 0;
  let fault: unknown;

  function take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (leftBytes > 0) {
        const piece = chunk.subarray(at, at + leftBytes);
        sink.chunk(piece, index);
        at += piece.length;
        leftBytes -= piece.length;
      } else if (leftBytes === 0) {
        // The line feed after the object.
        at += 1;
        leftBytes = -1;
        sink.end();
        index += 1;
      } else {
        const end = chunk.indexOf(LINE_FEED, at);
        header = Buffer.concat([header, chunk.subarray(at, end < 0 ? chunk.length : end)]);
        if (header.length > MAX_HEADER_BYTES) throw new GitError("git cat-file answered what is no header.");
        if (end < 0) return;
        at = end + 1;
        leftBytes = sizeIn(header.toString("latin1"), oids[index]);
        header = Buffer.alloc(0);
        sink.begin(index, leftBytes);
      }
    }
  }

  await git.run({
    args: ["cat-file", "--batch"],
    gitDir,
    stdin: `${oids.join("\n")}\n`,
    onStdout(chunk) {
      if (fault !== undefined) return;
      try {
        take(chunk);
      } catch (error) {
        fault = error;
      }
    },
    signal,
  });
  if (fault !== undefined) throw fault;
  if (index !== oids.length) throw new GitError("git cat-file ended before all objects were read.");
}

function sizeIn(header: string, oid: string | undefined): number {
  const match = /^([0-9a-f]+) blob (\d+)$/.exec(header);
  if (!match || match[1] !== oid) throw new GitError(`git cat-file has no blob ${oid}.`);
  return Number(match[2]);
}
