import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Words for the pages. Their order differs from place to place, so that git packs them like real
 * pages.
 */
const WORDS = (
  "a request the service reads each page of the guide with an option that sets the default value " +
  "before it starts and returns the error when a client has no token or its version is too old " +
  "for this update of the server list type field key role build cache"
).split(" ");

/** Returns the same numbers below `limit` each time. */
function createDice(seed: number) {
  let state = seed;
  return (limit: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

/**
 * Adds commits to `main` of a bare repository. Each changes one of `pages` pages in `docs/long/`.
 * One `git fast-import` makes ten thousand in a few seconds.
 */
export async function addCommits(
  bare: string,
  { commits, pages = 40, seed = 7 }: { commits: number; pages?: number; seed?: number },
) {
  const roll = createDice(seed);
  const sentence = () => Array.from({ length: 12 }, () => WORDS[roll(WORDS.length)]).join(" ");
  const texts = Array.from({ length: pages }, () => Array.from({ length: 40 }, sentence));
  const git = spawn("git", ["-c", "safe.directory=*", `--git-dir=${bare}`, "fast-import", "--quiet"], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = once(git, "exit");
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const file = (page: number) =>
    `M 100644 inline docs/long/${page}.md\n${data(`${texts[page]?.join("\n")}\n`)}`;
  for (let at = 0; at < commits; at += 1) {
    const page = roll(pages);
    for (let line = 0; line < 6; line += 1) texts[page]?.splice(roll(40), 1, sentence());
    const changed = at === 0 ? texts.map((_, each) => file(each)).join("") : file(page);
    const when = 1_700_000_000 + seed * 1_000_000 + at * 60;
    const from = at === 0 ? "from refs/heads/main^0\n" : "";
    const head = `commit refs/heads/main\ncommitter Ana <ana@example.com> ${when} +0000\n`;
    if (!git.stdin.write(`${head}${data(`Change page ${page}`)}${from}${changed}\n`))
      await once(git.stdin, "drain");
  }
  git.stdin.end();
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}
