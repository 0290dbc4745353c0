import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createCodeHost } from "../../world/code-host/index.ts";
import { installApp } from "./github-app.ts";
import { RunnerPlace } from "./runner-program.ts";
import { ServiceFolder, type ServiceProcess } from "./service-process.ts";
import { startHttpSide } from "./turn-network.ts";

/** The service's key for the model. Assembled here, so that no scanner takes it for a real one. */
export const MODEL_KEY = `sk-of-the-service-${"a1B2".repeat(8)}`;
/** The code host's token for projects without an App. */
export const FIXED_TOKEN = "code-host-token-0123456789";

/** Asks the model once, and writes down the status of its answer. */
const ASKS_A_MODEL = `
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
    method: "POST",
    headers: { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" },
    body: JSON.stringify({ model: "claude-test", max_tokens: 10, messages: [] }),
  });
  require("node:fs").appendFileSync("docs/index.md", "\\nThe model said " + answer.status + ".\\n");
`;
export const ASKS = ["node", "-e", `(async () => {${ASKS_A_MODEL}})()`];

const exec = promisify(execFile);

export type ElsewhereWorld = Awaited<ReturnType<typeof openElsewhere>>;

/**
 * A real service without a runner of its own, whose projects are `docs`, with an App, and `api`,
 * with a fixed token; an emulated code host; and a model that answers. `settings` are those of both
 * projects beside that.
 */
export async function openElsewhere(
  agents: { docs?: string[] | object; api?: string[] } = {},
  settings: object = {},
) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await ServiceFolder.open({}, { MODEL_KEY, DOCS_TOKEN: FIXED_TOKEN }));
  const codeHost = stack.use(
    await createCodeHost({
      dataDir: folder.dir.file("host"),
      tokens: [FIXED_TOKEN],
      searchPath: process.env["PATH"],
    }),
  );
  await codeHost.createRepository("acme", "docs", folder.dir.file("docs-repository"));
  const model = stack.use(
    await startHttpSide((_seen, _request, response) => {
      const usage = { input_tokens: 900, output_tokens: 100 };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "message", content: [], usage }));
    }),
  );
  const keyFile = folder.dir.file("app.pem");
  const { settings: withApp } = installApp(codeHost, keyFile);
  const { app: _, ...fixed } = withApp;
  const project = (id: string, host: object, agent: string[] | object = ["true"]) => ({
    id,
    repository: codeHost.gitUrl("acme", "docs"),
    codeHost: host,
    agent: Array.isArray(agent)
      ? {
          kind: "command",
          command: agent,
        }
      : agent,
    ...settings,
  });
  const projectsOf = (docs: string[] | object) => [
    project("docs", withApp, docs),
    project("api", { ...fixed, tokenEnv: "DOCS_TOKEN" }, agents.api),
  ];
  folder.configure({
    listen: { port: 0 },
    dataDir: "./data",
    jobsAtOnce: 0,
    stopGraceMinutes: 0,
    models: [{ name: "claude", kind: "anthropic", baseUrl: model.url, keyEnv: "MODEL_KEY" }],
    projects: projectsOf(agents.docs ?? ASKS),
  });
  const world = {
    folder,
    codeHost,
    model,
    keyFile,
    stack,
    /** Serves, at the address that it had before. */
    async serve(): Promise<ServiceProcess> {
      const service = await serveWithoutRunner(folder);
      folder.change({ listen: { port: Number(new URL(service.url).port) } });
      return service;
    },
    /** Adds a runner, and opens the folder in which it starts. */
    async addRunner(service: ServiceProcess, name: string, env: Record<string, string> = {}) {
      const { stdout } = await folder.run("runners", "add", name, "--all-projects");
      const added = stdout.replace(/^(RUNNER_SERVICE_URL=).*$/m, `$1${service.url}`);
      return stack.use(await RunnerPlace.open(added, { RUNNER_CONTAINMENT: "none", ...env }));
    },
    /** Creates a job, whose id it resolves to. */
    async ask(service: ServiceProcess, id = "docs"): Promise<string> {
      const { stdout: key } = await folder.run("keys", "create", "--project", id);
      const answer = await fetch(`${service.url}/v2/agent/${id}/job`, {
        method: "POST",
        headers: { authorization: `Bearer ${key.trim()}`, "content-type": "application/json" },
        body: '{"prompt":"Say more"}',
      });
      return ((await answer.json()) as { id: string }).id;
    },
    /** Gives `docs` another agent, before the service starts. */
    changeAgent: (agent: string[] | object) => folder.change({ projects: projectsOf(agent) }),
    /** Runs git in a repository of the code host. */
    git: async (repository: string, ...args: string[]) =>
      (await exec("git", ["-c", "safe.directory=*", "-C", repository, ...args])).stdout.trim(),
    /** What `jobs show` prints. */
    shown: async (job: string) => (await folder.run("jobs", "show", job)).stdout,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return world;
}

/** Serves without a sandbox, which a service without a runner of its own doesn't need. */
async function serveWithoutRunner(folder: ServiceFolder): Promise<ServiceProcess> {
  const service = folder.start("serve");
  await service.wrote(/job service is ready/);
  return service;
}
