import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { DocsAgentError, messageOf } from "../src/shared/errors.ts";
import { onStopSignal } from "../src/shared/machine/stop-signals.ts";
import { startPlayground } from "./playground.ts";
import { openStateFolder } from "./state-folder.ts";
import { commandOf } from "../src/shared/machine/this-copy.ts";

/**
 * The default folder is outside this project. Otherwise a real agent would take the files above it
 * for its own.
 */
const DIR = join(
  process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state"),
  "docs-agent-playground",
);

const HELP = `The playground: everything on this machine, no account, no network

Usage: ${commandOf("playground", "[options]")}

Starts a workspace page that works like Slack, with the real app behind it, the real job service with
a small rule-based agent (no AI), a sample docs repository and a local code host. Everything listens
on this machine alone.

  --fresh       empty the state first
  --dir PATH    the folder for the state (~/.local/state/docs-agent-playground)
  --port N      the page's port (4400). The other parts use the five ports after it. 0 picks free ports
  --help        show this

PLAYGROUND_AGENT="opencode acp" replaces the rule-based agent with a real one. It can be any command that
speaks the Agent Client Protocol over stdio. It runs as you, without a sandbox, with this shell's
environment: your keys, logins and proxy.
`;

/** Remedies for Node's errors, by the beginning of their code. */
const REMEDIES = [
  ["EADDRINUSE", "Another program listens there: choose other ports with --port."],
  ["ERR_PARSE_ARGS", `See ${commandOf("playground", "--help")}.`],
] as const;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      fresh: { type: "boolean", default: false },
      dir: { type: "string", default: DIR },
      port: { type: "string", default: "4400" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const agent = process.env["PLAYGROUND_AGENT"]?.trim() ?? "";
  const stopped = new Promise<void>((stop) => {
    let isAsked = false;
    onStopSignal(() => {
      if (isAsked) process.exit(1);
      isAsked = true;
      stop();
    });
  });
  process.stdout.write("Starting the playground…\n");
  const state = openStateFolder(resolve(values.dir), values.fresh);
  await using playground = await startPlayground({
    state,
    port: portOf(values.port),
    agent: agent === "" ? null : agent.split(/\s+/),
    env: only(["PATH", "HOME", "LANG", "TMPDIR"]),
    agentEnv: agent === "" ? {} : withWayOut(only(Object.keys(process.env).filter(isOfTheShell))),
  });
  process.stdout.write(`
  Open    ${playground.url}
  Try     /docs-agent fix the typos in the quickstart
  Or      the menu of a message: Fix these docs

  Logs    ${state.file("logs")}
  Stop    Ctrl-C. What is there stays; ${commandOf("playground", "--fresh")} starts over.

`);
  await stopped;
  process.stdout.write("Stopping…\n");
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_530) return port;
  throw new TypeError(`--port takes a number from 0 to 65530, not ${text}`);
}

/**
 * True if a shell can have set a variable of this name. `npm run` adds others, which describe this
 * project.
 */
function isOfTheShell(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !/^(?:npm_|NODE$|INIT_CWD$)/.test(name);
}

/**
 * Returns the shell's environment with its own proxy settings. The job service's proxy lets nothing
 * through here.
 */
function withWayOut(shell: Record<string, string>): Record<string, string> {
  const valueOf = (name: string) => shell[name.toLowerCase()] || shell[name] || null;
  const both = (name: string, value: string) => ({ [name]: value, [name.toLowerCase()]: value });
  const https = valueOf("HTTPS_PROXY") ?? valueOf("HTTP_PROXY");
  if (https === null) return { ...shell, ...both("NO_PROXY", "*") };
  const direct = [valueOf("NO_PROXY") ?? [], "127.0.0.1", "localhost", "::1"].flat();
  return {
    ...shell,
    ...both("HTTPS_PROXY", https),
    ...both("HTTP_PROXY", valueOf("HTTP_PROXY") ?? https),
    // The playground's own parts are on this machine.
    ...both("NO_PROXY", direct.join(",")),
  };
}

/** Returns those of these variables that are set in this process. */
function only(names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

try {
  await main();
} catch (thrown) {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const remedy = REMEDIES.find(([start]) => code.startsWith(start))?.[1] ?? null;
  const isOurs = thrown instanceof DocsAgentError || thrown instanceof TypeError || remedy !== null;
  const problem = isOurs || !(thrown instanceof Error) ? messageOf(thrown) : thrown.stack;
  process.stderr.write(`${problem}${remedy === null ? "" : `\n${remedy}`}\n`);
  process.exitCode = 1;
}
process.exit();
