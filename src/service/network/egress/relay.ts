// Runs inside the sandbox, where the rest of this project isn't visible, so it may only import
// Node's own modules.
import { spawn } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { constants } from "node:os";

/** The same exit codes as shells and `env` use. */
const RELAY_FAILED = 125;
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;
const FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** How long our own signal may take to end us. The first process of a namespace ignores it. */
const SIGNAL_MS = 200;

const [socketPath = "", portText = "", separator, program, ...programArguments] = process.argv.slice(2);
const port = Number(portText);
if (socketPath === "" || !/^\d{1,5}$/.test(portText) || separator !== "--" || program === undefined) {
  fail(RELAY_FAILED, "usage: relay <socket path> <port> -- <command> [argument…]");
}

const server = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  join(inside, outside);
});
server.once("error", (error) => {
  fail(RELAY_FAILED, `can't listen on 127.0.0.1 port ${port} (${codeOf(error)})`);
});
server.listen(port, "127.0.0.1", () => start(program));

function start(command: string): void {
  const child = spawn(command, programArguments, { stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.once("error", (error) => {
    const code = codeOf(error);
    if (code === "ENOENT") fail(NOT_FOUND, `can't find the program ${command}`);
    fail(NOT_EXECUTABLE, `can't run the program ${command} (${code})`);
  });
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 0);
    for (const forwarded of FORWARDED) process.removeAllListeners(forwarded);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + constants.signals[signal]), SIGNAL_MS);
  });
}

/** Passes on what each side sends, and its end and close. */
function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroySoon());
  }
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : error.message;
}

function fail(code: number, message: string): never {
  process.stderr.write(`relay: ${message}\n`);
  process.exit(code);
}
