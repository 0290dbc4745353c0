import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { BenchError } from "./scenario.ts";

/** The users that runners run as. No account is needed for a number. */
const FIRST_UID = 60_001;
const PREFIX = `10.213.${process.pid % 200}`;
const NAME = `bench${process.pid % 10_000}`;

/** A user in a network namespace. */
export type Machine = {
  /** Starts a Node.js program there. Resolves when a line that it writes has these words. */
  start: (nodeArgs: string[], env: Record<string, string>, words: string) => Promise<void>;
};

const ip = (...args: string[]) => execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });

/**
 * A network of machines, each of them a user and a network namespace of its own on this machine.
 * This process has an address in it, too.
 */
export class SeparateMachines implements AsyncDisposable {
  /** The address of this process. */
  readonly address = `${PREFIX}.1`;
  readonly #undo: (() => unknown)[] = [];
  #count = 0;

  private constructor() {}

  /** Null if this user may not make a network. */
  static open(): SeparateMachines | null {
    const made = new SeparateMachines();
    try {
      ip("link", "add", NAME, "type", "bridge");
      made.#undo.push(() => ip("link", "del", NAME));
      ip("addr", "add", `${made.address}/24`, "dev", NAME);
      ip("link", "set", NAME, "up");
      return made;
    } catch {
      void made.#undoAll();
      return null;
    }
  }

  /** Makes a machine, whose user has a folder of its own below `dir`. */
  add(dir: string): Machine {
    this.#count += 1;
    const count = this.#count;
    const [namespace, outside, inside] = [`${NAME}n${count}`, `${NAME}o${count}`, `${NAME}i${count}`];
    ip("netns", "add", namespace);
    this.#undo.push(() => ip("netns", "del", namespace));
    ip("link", "add", outside, "type", "veth", "peer", "name", inside);
    ip("link", "set", inside, "netns", namespace);
    ip("link", "set", outside, "master", NAME, "up");
    ip("-n", namespace, "addr", "add", `${PREFIX}.${count + 1}/24`, "dev", inside);
    ip("-n", namespace, "link", "set", inside, "up");
    ip("-n", namespace, "link", "set", "lo", "up");
    const uid = FIRST_UID + count;
    const own = join(dir, `machine-${count}`);
    mkdirSync(own, { recursive: true });
    chownSync(own, uid, uid);
    chmodSync(own, 0o700);
    const user = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
    return {
      start: async (nodeArgs, env, words) => {
        const child = spawn("ip", ["netns", "exec", namespace, ...user, process.execPath, ...nodeArgs], {
          cwd: own,
          env: { ...env, TMPDIR: own, HOME: own },
          stdio: ["ignore", "pipe", "inherit"],
        });
        const gone = once(child, "exit");
        this.#undo.push(async () => {
          child.kill("SIGTERM");
          child.kill("SIGINT");
          await gone;
        });
        const lines = createInterface({ input: child.stdout });
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        lines.on("line", (line) => line.includes(words) && resolve());
        lines.once("close", () => reject(new BenchError("A program on a machine of its own ended at once.")));
        await promise;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undoAll();
  }

  async #undoAll(): Promise<void> {
    // One after the other, and the last one first.
    for (const undo of this.#undo.splice(0).toReversed()) await undo();
  }
}
