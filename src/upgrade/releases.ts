import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import type { Env } from "../service/config/env.ts";
import { codeOf } from "../shared/errors.ts";
import { jsonOf } from "../shared/text/text.ts";
import { moveTo, pointTo, refuseLink } from "./durable.ts";
import { runToEnd } from "./run-to-end.ts";
import { UpgradeError, Version } from "./rules.ts";

const UNPACK_MS = 2 * 60_000;
const INSTALL_MS = 15 * 60_000;
const About = z.object({
  name: z.literal("docs-agent-slack"),
  version: Version,
});
/** The command of the package. */
const BIN = "dist/docs-agent-slack.cjs";

/** The releases in an installation's folder, each in a folder of its own, and `current`. */
export class Releases {
  readonly #folder: string;
  readonly #env: Env;

  /** Creates the folders that are missing. */
  constructor(folder: string, env: Env) {
    this.#folder = join(folder, "releases");
    this.#env = env;
    // Whoever runs the programs reads them, whatever rights this process gives files by default.
    process.umask(0o022);
    mkdirSync(this.#folder, { recursive: true });
    refuseLink(this.#folder);
  }

  /** The release that the programs run, by its folder's name, or null. */
  current(): string | null {
    try {
      return basename(readlinkSync(this.#link()));
    } catch (thrown) {
      if (codeOf(thrown) === "ENOENT") return null;
      throw new UpgradeError(`${this.#link()} isn't a link. Move it away, and try again.`, { cause: thrown });
    }
  }

  setCurrent(release: string): void {
    pointTo(join("releases", release), this.#link());
  }

  pathOf(release: string): string {
    return join(this.#folder, release);
  }

  /** The path of the Node.js that came with a release, or this process's own. */
  nodeOf(release: string): string {
    const shipped = join(this.pathOf(release), "node_modules", ".bin", "node");
    return existsSync(shipped) ? shipped : process.execPath;
  }

  commandOf(release: string): string {
    return join(this.pathOf(release), BIN);
  }

  /**
   * Unpacks a package beside the releases. Returns the name of its release, and `install`, which
   * brings its dependencies and makes a release of it, unless it is there already.
   */
  async unpack(file: string): Promise<{ release: string; version: string; install: () => Promise<void> }> {
    const unpacked = join(this.#folder, ".new");
    rmSync(unpacked, { recursive: true, force: true });
    mkdirSync(unpacked);
    const { code } = await runToEnd(
      "tar",
      ["-xzf", resolve(file), "--strip-components=1", "--no-same-owner"],
      {
        cwd: unpacked,
        env: this.#env,
        timeLimitMs: UNPACK_MS,
      },
    );
    const about = code === 0 ? About.safeParse(aboutIn(unpacked)) : null;
    if (about?.success !== true || !existsSync(join(unpacked, BIN))) {
      rmSync(unpacked, { recursive: true });
      throw new UpgradeError(
        `${file} isn't a package of Docs Agent. Make one with npm pack in a clone. Nothing was changed.`,
      );
    }
    const { version } = about.data;
    const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
    const release = `${version}-${hash.slice(0, 8)}`;
    const install = async () => {
      if (existsSync(this.pathOf(release))) return rmSync(unpacked, { recursive: true });
      const ran = await runToEnd(
        "npm",
        ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        { cwd: unpacked, env: this.#env, timeLimitMs: INSTALL_MS },
      );
      if (ran.code !== 0) {
        throw new UpgradeError(
          `npm can't install the dependencies. Nothing was changed. It says:\n${ran.said}`,
        );
      }
      moveTo(unpacked, this.pathOf(release));
    };
    return { release, version, install };
  }

  /** Removes all releases but these. */
  keepOnly(kept: readonly (string | null)[]): void {
    for (const name of readdirSync(this.#folder)) {
      if (!kept.includes(name)) rmSync(this.pathOf(name), { recursive: true });
    }
  }

  #link(): string {
    return join(this.#folder, "..", "current");
  }
}

function aboutIn(folder: string): unknown {
  try {
    return jsonOf(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return null;
  }
}
