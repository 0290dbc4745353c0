// @module-tag chromium
// @module-tag all
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { need } from "../support/need.ts";
import { ROOT, withPrograms } from "../support/package.ts";
import { answerAll } from "../support/setup-page.ts";
import { openSetupPlace } from "../support/setup-place.ts";
import { ANA, DOCS } from "../support/world.ts";

const PAGE = readFileSync(join(ROOT, "docs", "install.md"), "utf8");
/** The commands that lead from nothing to running, in order. */
const BLOCKS = [
  ...PAGE.slice(PAGE.indexOf("## From nothing"), PAGE.indexOf("## 1. ")).matchAll(/^```sh\n([^]*?)^```$/gm),
].map(([, commands = ""]) => commands);

const ASKED = "/opt/asked";
const noted = (program: string) => `#!/bin/sh\necho "${program} $*" >> ${ASKED}\n`;

/** The new user is this one under another name, so that no right has to be had. */
const PASSWD = "root:x:0:0::/root:/bin/bash\ndocs-agent:x:0:0::/opt/docs-agent:/bin/bash\n";
const GROUP = "root:x:0:\ndocs-agent:x:0:\n";

/** Starts what a unit says, where it says so. */
const SYSTEMCTL = `#!/bin/sh
[ "$1" = is-active ] && echo inactive && exit
echo "systemctl $*" >> ${ASKED}
value() { sed -n "s/^$2=//p" "/etc/systemd/system/$1.service"; }
[ "$1 $2" = "enable --now" ] || exit 0
shift 2
for unit in "$@"; do
  cd "$(value "$unit" WorkingDirectory)" || exit 1
  setsid $(value "$unit" ExecStart) > "/opt/$unit.log" 2>&1 < /dev/null &
  echo $! > "/opt/$unit.pid"
done
`;

/** What stands for the machine's own programs. Whatever isn't here is real. */
function standIns({
  npm,
  clone,
  agent,
  flags,
}: {
  npm: string;
  clone: string;
  agent: string;
  flags: string;
}) {
  return {
    "apt-get": noted("apt-get"),
    useradd: noted("useradd"),
    systemctl: SYSTEMCTL,
    // Nothing is fetched: the agent is ours, and dependencies are those of this clone.
    npm: `#!/bin/sh
case "$1 $2" in
  "install -g") echo "npm $*" >> ${ASKED}; cp "${agent}" /usr/local/bin/opencode ;;
  "install "*) [ -f package-lock.json ] ;;
  "ci "*) ln -s "${join(ROOT, "node_modules")}" node_modules ;;
  *) exec "${npm}" "$@" ;;
esac
`,
    git: `#!/bin/sh
[ "$1" = clone ] || exec /usr/bin/git "$@"
for last; do :; done
exec cp -r "${clone}" "$last"
`,
    // A shell of the user, which takes what is typed next.
    su: `#!/bin/sh
[ "$2" = docs-agent ] || exit 1
cd /opt/docs-agent && HOME=/opt/docs-agent USER=docs-agent && export HOME USER || exit 1
if [ "$3" = -c ]; then exec bash -ec "$4"; else exec bash -e; fi
`,
    // The setup gets to know where the stand-ins of GitHub and the model are.
    "docs-agent-slack": `#!/bin/sh
[ "$1" = setup ] || exec /usr/local/bin/docs-agent-slack "$@"
echo $$ > /opt/setup.pid
exec /usr/local/bin/docs-agent-slack "$@" ${flags}
`,
  };
}

it("docs/install.md leads from nothing to running, by its own commands", { timeout: 600_000 }, async () => {
  need("bubblewrap");
  need("systemd");
  await using place = await openSetupPlace();
  const { slack, codeHost, model } = place;
  const file = (name: string) => join(place.folder, name);
  for (const name of ["opt", "local", "units"]) mkdirSync(file(name));
  writeFileSync(file("passwd"), PASSWD);
  writeFileSync(file("group"), GROUP);
  execFileSync("git", ["clone", "--quiet", "--no-hardlinks", ROOT, file("clone")]);
  symlinkSync(join(ROOT, "node_modules"), file("clone/node_modules"));
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  const flags = `--code-host-url ${codeHost.apiUrl} --model-url ${model.url}`;
  const path = withPrograms(
    file("stand-ins"),
    standIns({ npm, clone: file("clone"), agent: place.agent, flags }),
  );

  const binds = [
    [file("opt"), "/opt"],
    [file("local"), "/usr/local/bin"],
    [file("units"), "/etc/systemd/system"],
    [file("passwd"), "/etc/passwd"],
    [file("group"), "/etc/group"],
  ].flatMap(([from = "", to = ""]) => ["--bind", from, to]);
  const asRoot = ["--unshare-user", "--uid", "0", "--gid", "0", "--die-with-parent"];
  const shell = spawn("bwrap", ["--dev-bind", "/", "/", ...binds, ...asRoot, "bash", "-e"], {
    cwd: file("clone"),
    env: { ...place.env, PATH: `${path}:/usr/local/bin` },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  const ended = once(shell, "close");
  const saw = async (what: RegExp) => {
    for (;;) {
      const match = what.exec(said);
      if (match !== null) return match;
      const next = await Promise.race([
        once(shell.stdout, "data"),
        once(shell.stderr, "data"),
        ended.then(() => null),
      ]);
      if (next === null && !what.test(said)) throw new Error(`The shell ended: ${said}`);
    }
  };
  const type = (text: string) => shell.stdin.write(text);
  const pidIn = (name: string) => Number(readFileSync(file(`opt/${name}.pid`), "utf8"));

  const setUp = BLOCKS.findIndex((commands) => /^docs-agent-slack setup$/m.test(commands));
  expect(setUp).toBeGreaterThan(0);
  for (const [at, commands] of BLOCKS.slice(0, setUp).entries()) {
    type(`${commands}echo "block ${at} is done"\n`);
    await saw(new RegExp(`^block ${at} is done$`, "m"));
  }
  type(BLOCKS[setUp] ?? "");
  const [, url = ""] = await saw(/^Open (http:\S+)/m);
  const browser = await startBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(url);
    await answerAll(tab, place.repository);
  } finally {
    await browser.close();
  }
  // Ctrl-C, and the end of the user's shell.
  process.kill(pidIn("setup"), "SIGINT");
  type('exit\necho "the setup has ended"\n');
  await saw(/^the setup has ended$/m);
  try {
    for (const commands of BLOCKS.slice(setUp + 1)) type(commands);
    type('echo "it is enabled"\n');
    await saw(/^it is enabled$/m);

    const settings = readFileSync(file("opt/docs-agent/.env"), "utf8");
    const [, port = "3000"] = /^PORT=(\d+)$/m.exec(settings) ?? [];
    const isReady = async (address: string) => (await fetch(address).catch(() => null))?.ok === true;
    const service = /^DOCS_AGENT_BASE_URL=(\S+)$/m.exec(settings)?.[1] ?? "";
    for (const address of [`${service}/readyz`, `http://127.0.0.1:${port}/readyz`]) {
      await expect.poll(() => isReady(address), { timeout: 60_000 }).toBe(true);
    }
    const ask = async () =>
      (await slack.person(ANA).command({ channel: DOCS, text: "fix the typo in the README" })).status;
    await expect.poll(ask, { timeout: 60_000 }).toBe(200);
    await slack.until(
      () => slack.messages(DOCS).some((message) => slack.visibleText(message).includes("acme/docs#1")),
      120_000,
    );
  } finally {
    for (const unit of ["docs-agent", "docs-agent-service"]) process.kill(pidIn(unit), "SIGTERM");
  }
  shell.stdin.end();
  await ended;
  expect(shell.exitCode, `${said}`).toBe(0);
  expect(readFileSync(file("opt/asked"), "utf8").split("\n")).toEqual([
    "apt-get update",
    "apt-get install -y git bubblewrap",
    "npm install -g opencode-ai",
    "useradd --system --home-dir /opt/docs-agent --shell /bin/bash docs-agent",
    "systemctl daemon-reload",
    "systemctl enable --now docs-agent-service docs-agent",
    "",
  ]);
  // What the programs write is where their units let them.
  const made = readdirSync(file("opt/docs-agent")).filter((name) => !name.startsWith("."));
  expect(made.toSorted()).toEqual(["current", "data", "releases", "service.yml", "upgrade-owner"]);
  expect(readdirSync(file("opt/docs-agent/data"))).toContain("docs-agent.sqlite");
});
