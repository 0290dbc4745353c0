import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../shared/machine/ports.ts";

/** A fetch that shows no progress for this long is stopped, and at the latest after twice that. */
const STALLED_AFTER_MS = 2 * 60_000;
const TELL_EVERY_MS = 3000;
/** Of a line that doesn't end. Git's are shorter. */
const MAX_LINE_CHARS = 1000;
const PROGRESS = new RegExp(
  String.raw`^(?:remote: )?(Enumerating|Counting|Compressing|Receiving|Unpacking|Resolving) ` +
    String.raw`(?:objects|deltas): +(?:(\d+)% \((\d+)/\d+\)|(\d+))(?:, ([\d.]+) (bytes|KiB|MiB|GiB))?`,
);
/** Of a line whose beginning wasn't kept. */
const END_OF_PROGRESS = /^[^:]*\(\d+\/\d+\)(?:, .*)?\s*$/;
const RECEIVES = ["Receiving", "Unpacking"];

type FetchProgress = {
  /** For people. */
  text: string;
  /** How many objects have arrived. */
  received: number;
  /** Differs if something was done since. */
  mark: string;
};

/** Reads a line of git's standard error. Null if it doesn't say how far a fetch is. */
export function readProgress(line: string): FetchProgress | null {
  const [, phase = "", percent, done = "0", , size, unit] = PROGRESS.exec(line) ?? [];
  if (phase === "") return null;
  const mark = line.replace(/ \| .*/, "");
  if (percent === undefined || !(RECEIVES.includes(phase) || phase === "Resolving")) {
    return { text: "the git server is preparing it", received: 0, mark };
  }
  if (phase === "Resolving") return { text: `received, ${percent} % unpacked`, received: 0, mark };
  const amount = size === undefined ? "" : `, ${Math.ceil(Number(size))} ${UNITS[unit ?? ""] ?? "bytes"}`;
  return { text: `${percent} %${amount}`, received: Number(done), mark };
}

const UNITS: Readonly<Record<string, string>> = { KiB: "KB", MiB: "MB", GiB: "GB" };

/** Removes git's lines of progress from what it wrote to standard error. */
export function withoutProgress(words: string): string {
  const lines = words.split(/[\r\n]+/);
  return lines.filter((line) => readProgress(line.trim()) === null && !END_OF_PROGRESS.test(line)).join("\n");
}

export type FetchWatch = ReturnType<typeof watchFetch>;

/**
 * Watches a fetch into this repository: tells how far it is, every few seconds at most, and aborts
 * `signal` once git neither says nor writes anything new for two minutes. A fetch that makes
 * progress has no other limit. Dispose of it after the fetch.
 */
export function watchFetch({ clock, gitDir, tell }: WatchOptions) {
  const stalled = new AbortController();
  let isOver = false;
  let line = "";
  let mark = "";
  let received = 0;
  let toldAtMs = clock.now();
  let movedAtMs = toldAtMs;
  let written = writtenIn(gitDir);
  let cancel = () => {};

  function wait(): void {
    cancel = clock.wakeAt(movedAtMs + STALLED_AFTER_MS, () => void look());
  }
  async function look(): Promise<void> {
    if (clock.now() - movedAtMs >= STALLED_AFTER_MS) {
      // Not every way of fetching says how far it is.
      const before = await written;
      written = writtenIn(gitDir);
      if ((await written) !== before) movedAtMs = clock.now();
    }
    if (isOver) return;
    if (clock.now() - movedAtMs >= STALLED_AFTER_MS) stalled.abort();
    else wait();
  }
  function take(text: string): void {
    const progress = readProgress(text.trim());
    if (progress === null || progress.mark === mark) return;
    ({ mark } = progress);
    movedAtMs = clock.now();
    received = Math.max(received, progress.received);
    if (movedAtMs - toldAtMs < TELL_EVERY_MS) return;
    toldAtMs = movedAtMs;
    tell(progress.text);
  }

  wait();
  return {
    signal: stalled.signal,
    /** Takes what git writes to standard error. */
    read(chunk: Buffer): void {
      const lines = (line + chunk.toString("utf8")).split(/[\r\n]+/);
      line = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS);
      for (const each of lines) take(each);
    },
    /** How many objects have arrived. */
    received: () => received,
    [Symbol.dispose]() {
      isOver = true;
      cancel();
    },
  };
}

type WatchOptions = { clock: Clock; gitDir: string; tell: (far: string) => void };

/** Differs if git wrote any object into a repository since. */
async function writtenIn(gitDir: string): Promise<string> {
  const objects = join(gitDir, "objects");
  const names = await Promise.all(
    [".", "pack"].map(async (folder) =>
      (await readdir(join(objects, folder)).catch(() => [])).map((name) => join(objects, folder, name)),
    ),
  );
  const written = createHash("sha256");
  for (const path of names.flat()) {
    const stats = await stat(path).catch(() => null);
    written.update(`${path} ${stats?.size} ${stats?.mtimeMs}\n`);
  }
  return written.digest("hex");
}
