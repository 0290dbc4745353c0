import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { normalize } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { fixtureAgent, inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const exec = promisify(execFile);
const hex = (text: string) => Buffer.from(text).toString("hex");
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** A server at an address, until it is disposed of. */
async function listen(at: string | number): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((socket) => socket.end("here"));
  server.listen(typeof at === "number" ? { port: at, host: "127.0.0.1" } : { path: at });
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

it("shows an agent nothing of the operator's: no file, environment, process, socket, port or memory, and lets it leave nothing", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const secret = () => `operators-${randomBytes(12).toString("hex")}`;
  const [inFile, inHome, inEnv, inCommand, inMemory, inSocket] = [
    secret(),
    secret(),
    secret(),
    secret(),
    secret(),
    secret(),
  ];
  // Where operators keep them: beside the data folder, in a home, in /tmp, in other processes.
  await writeFile(world.dir.file(".env"), `SLACK_BOT_TOKEN=${inFile}\n`);
  await mkdir(world.dir.file("home/.ssh"), { recursive: true });
  await writeFile(world.dir.file("home/.ssh/id_ed25519"), inHome);
  const shared = `/dev/shm/${inMemory}`;
  await writeFile(shared, inMemory);
  const other = spawn("sleep", ["3600"], {
    argv0: inCommand,
    env: { PATH: process.env["PATH"], TOKEN: inEnv },
    stdio: "ignore",
  });
  const { stdout } = await exec("ipcmk", ["-M", "4096"]);
  const segment = /id: (\d+)/.exec(stdout)?.[1] ?? "";
  const socketPath = world.dir.file(`agent-${inSocket.slice(-8)}.sock`);
  await using onPort = await listen(0);
  await using _onPath = await listen(socketPath);
  await using _abstract = await listen(`\0${inSocket}`);
  await using _shown = {
    [Symbol.asyncDispose]: async () => {
      other.kill("SIGKILL");
      await rm(shared, { force: true });
      await exec("ipcrm", ["-m", segment]);
    },
  };
  const plant = [
    world.dir.file("planted"),
    world.dir.file("data/planted"),
    "/etc/docs-agent-planted",
    "/tmp/docs-agent-planted",
    "/dev/shm/docs-agent-planted",
    "/run/docs-agent-planted",
    "/usr/local/bin/docs-agent-planted",
  ];
  const segmentsBefore = await readFile("/proc/sysvipc/shm", "utf8");
  const agent = fixtureAgent(
    "seek.mjs",
    JSON.stringify({
      marks: [inFile, inHome, inEnv, inCommand, inMemory, inSocket, world.token].map(hex),
      ports: [onPort.port, Number(new URL(world.codeHost.apiUrl).port)],
      sockets: [socketPath, `\0${inSocket}`].map(hex),
      plant,
    }),
  );

  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request" });
  expect(JSON.parse(await world.show("docs/report.md"))).toEqual({
    // Its way out: a proxy that lets nothing through unless the settings name it.
    found: ["the socket /run/agent/way-out/socket"],
    files: true,
    ids: "1000",
    noNewPrivileges: "1",
  });
  for (const path of plant) expect({ path, isThere: await isThere(path) }).toEqual({ path, isThere: false });
  expect(await readFile("/proc/sysvipc/shm", "utf8")).toBe(segmentsBefore);
});

it("finds what is there when nothing holds it", async () => {
  // Otherwise the test above could not fail.
  await using world = await openRunnerWorld({ containment: "none" });
  const socketPath = world.dir.file("agent.sock");
  await using onPort = await listen(0);
  await using _onPath = await listen(socketPath);
  const secret = randomBytes(12).toString("hex");
  const other = spawn("sleep", ["3600"], { env: { ...process.env, TOKEN: secret }, stdio: "ignore" });
  await using _ = { [Symbol.asyncDispose]: async () => void other.kill("SIGKILL") };
  const agent = fixtureAgent(
    "seek.mjs",
    JSON.stringify({
      roots: [world.dir.path],
      marks: [hex(secret)],
      ports: [onPort.port],
      sockets: [hex(socketPath)],
      plant: [],
    }),
  );
  await world.run(world.project(agent));
  const { found } = JSON.parse(await world.show("docs/report.md"));
  expect(found).toContain(`mark 0 in /proc/${other.pid}/environ`);
  expect(found).toContain(`the port ${onPort.port} at 127.0.0.1`);
  expect(found).toContain(`the socket ${JSON.stringify(socketPath)}`);
  await exec("pkill", ["-f", "sleep 3579"]).catch(() => {});
});

it("gives an agent a tree with nothing above it", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  await writeFile(world.dir.file("AGENTS.md"), "Instructions of somebody else");
  const agent = inlineAgent(`
    fs.writeFileSync("docs/report.md", JSON.stringify({ cwd: process.cwd(), above: fs.readdirSync("..").sort(), home: fs.readdirSync(process.env.HOME), tmp: fs.readdirSync("/tmp") }));
  `);
  await world.run(world.project(agent));
  const { cwd, above, home, tmp } = JSON.parse(await world.show("docs/report.md"));
  expect(cwd).toBe("/repo");
  expect(above).not.toContain("AGENTS.md");
  // Where this project itself lies below /tmp, the way to its Node.js is there.
  const [, top, below] = process.execPath.split("/");
  expect({ home, tmp }).toEqual({ home: [], tmp: top === "tmp" ? [below] : [] });
});

it("keeps what it stores from everybody else on the machine", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  await world.run(world.project(inlineAgent("")));
  expect((await stat(world.dir.file("data"))).mode & 0o777).toBe(0o700);
});

it("ends an agent that fills the disk", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    for (let n = 0; ; n++) { fs.writeFileSync("big" + n, Buffer.alloc(8 * 1024 * 1024)); await new Promise((r) => setTimeout(r, 100)); }
  `);
  const project = world.project(agent);
  project.agent.limits = { memoryMegabytes: 1024, processes: 64, diskMegabytes: 32 };
  expect(await world.run(project)).toEqual({
    kind: "failed",
    reason: "The agent wrote more than its limit of 32 MB, and was stopped.",
  });
});

it("bounds a file, and the memory of a process", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const agent = inlineAgent(`
    const { spawnSync } = await import("node:child_process");
    const said = {};
    fs.writeFileSync("docs/sparse.md", "");
    try { fs.truncateSync("docs/sparse.md", 40 * 2 ** 30); said.file = "made"; } catch (error) { said.file = error.code; }
    fs.rmSync("docs/sparse.md", { force: true });
    said.some = spawnSync(process.execPath, ["-e", "Buffer.alloc(2 ** 28).fill(1)"]).status;
    said.much = spawnSync(process.execPath, ["-e", "Buffer.alloc(2 ** 31).fill(1)"]).status;
    fs.writeFileSync("docs/report.md", JSON.stringify(said));
  `);
  const project = world.project(agent);
  project.agent.limits = { memoryMegabytes: 1536, processes: 64, diskMegabytes: 100 };
  await world.run(project);
  expect(JSON.parse(await world.show("docs/report.md"))).toEqual({ file: "EFBIG", some: 0, much: 1 });
});

it.each(["/repo/style-guide", "/var/tmp/../../tmp"])(
  "shows no agent what would lie in its own folders, and says what to do: %s",
  async (path) => {
    await using world = await openRunnerWorld({ remote: "folder" });
    const project = world.project(inlineAgent(""));
    project.agent.readable.push(path);
    expect(await world.run(project)).toEqual({
      kind: "failed",
      reason: "The agent couldn't be started.",
      details: [
        `The sandbox can't show ${normalize(path)}: in its place is a folder of the agent's own. Move it, and correct agent.command or agent.readable.`,
      ],
    });
  },
);

it("shows an agent its own program also below /tmp, with the packages beside it, read-only", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const modules = world.dir.file("installed/node_modules");
  await mkdir(`${modules}/.bin`, { recursive: true });
  await mkdir(`${modules}/fixer`);
  await mkdir(`${modules}/words`);
  await writeFile(`${modules}/words/index.mjs`, 'export const word = "Install";\n');
  const program = `#!/usr/bin/env node
    import { writeFileSync } from "node:fs";
    import { word } from "../words/index.mjs";
    let refusal = "none";
    try { writeFileSync("${modules}/words/index.mjs", ""); } catch ({ code }) { refusal = code; }
    writeFileSync("docs/report.md", word + " " + refusal);
  `;
  await writeFile(`${modules}/fixer/main.mjs`, program, { mode: 0o755 });
  await symlink("../fixer/main.mjs", `${modules}/.bin/fixer`);
  await world.run(world.project([`${modules}/.bin/fixer`]));
  expect(await world.show("docs/report.md")).toBe("Install EROFS");
});
