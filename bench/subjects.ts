import { join } from "node:path";
import { z } from "zod";
import { Program } from "./program.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);
const BARE_BOLT = new URL("./bare-bolt.ts", import.meta.url);
const SIDES = new URL("./sides.ts", import.meta.url);

const Listening = z.object({ address: z.string() });
const SidesReady = z.object({ env: z.record(z.string(), z.string()) });

export type Sides = AsyncDisposable & {
  signingSecret: string;
  /** The environment of an app between the two sides, but for its store. */
  env: Record<string, string>;
};

/** A Slack with so many of the bench's channels, and a job service whose jobs stay active. */
export async function startSides(dir: string, channels: number): Promise<Sides> {
  const program = await Program.start({ file: SIDES, args: [String(channels)], dir });
  const { env } = SidesReady.parse(program.ready);
  return {
    env,
    signingSecret: env["SLACK_SIGNING_SECRET"] ?? "",
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}

export type Subject = { program: Program; origin: string };
type SubjectOptions = { sides: Sides; dir: string; isProbed?: boolean };

/** The real program, `src/main.ts`, on an SQLite file of its own: `store`, a name in `dir`. */
export async function startDocsAgent({
  sides,
  dir,
  store,
  isProbed = true,
}: SubjectOptions & { store: string }): Promise<Subject & { storePath: string }> {
  const storePath = join(dir, store);
  const program = await Program.start({
    file: MAIN,
    env: { ...sides.env, STORE_URL: `sqlite://${storePath}` },
    dir,
    isProbed,
  });
  return { program, origin: originOf(program), storePath };
}

/** A Bolt app that only acknowledges. */
export async function startBareBolt({ sides, dir, isProbed = true }: SubjectOptions): Promise<Subject> {
  const program = await Program.start({ file: BARE_BOLT, args: [sides.signingSecret], dir, isProbed });
  return { program, origin: originOf(program) };
}

function originOf(program: Program): string {
  return `http://${Listening.parse(program.ready).address}`;
}
