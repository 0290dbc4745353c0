import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stringify } from "yaml";
import type { KnownTurn } from "../../src/app/rules/known-job.ts";
import { createCodeHost } from "../../world/code-host/index.ts";
import type { JobService } from "../../src/app/rules/ports/job-service.ts";
import { createHttpJobService } from "../../src/app/job-client/http-job-service.ts";
import { AppProcess, type Program } from "../support/app-process.ts";
import { openTempDir } from "../support/temp-dir.ts";
import type { RealAgent } from "./agents.ts";
import type { InstalledAgent } from "./install.ts";
import { SOURCE } from "./model/script.ts";
import { type ModelCall, type ScriptedModel, startScriptedModel } from "./model/server.ts";
import type { JobStatus } from "../../src/shared/contract/job.ts";

const run = promisify(execFile);
const SERVICE = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));
const TOKEN = "code-host-token-0123456789";
/** The key that the scripted model takes. The agent must never have it. */
const MODEL_KEY = "sk-real-key-of-the-operator-0123456789";
const PAGE = "docs/quickstart.md";
const MINUTE_MS = 60_000;
const TURN_LIMIT_MS = 4 * 60_000;

/** The result of one agent. `detail` helps to find the reason for a failure. */
export type Drive = { ok: boolean; reason: string; detail: string; seconds: number };

/**
 * A person's requests, and the page after each. The check below objects to the first one's word.
 */
const TURNS = [
  {
    ask: `Please replace "Instal it." with "Utilize it." in ${PAGE}`,
    finding: `Say it plainly: replace "Utilize it." with "Install it." in ${PAGE}`,
    page: "# Quickstart\n\nInstall it. Then strat it.\n",
  },
  {
    ask: `Also replace "strat it" with "start it" in ${PAGE}`,
    finding: null,
    page: "# Quickstart\n\nInstall it. Then start it.\n",
  },
] as const;
const CHECK = {
  name: "words",
  command: ["sh", "-c", `! grep -q Utilize ${PAGE} || { echo '${TURNS[0].finding}'; exit 1; }`],
};
/** Texts from the brief and the settings that the agent must have passed on to the model. */
const TOLD = [
  "You are the documentation engineer of this repository",
  "Never invent a flag",
  "Our readers are in a hurry.",
  "`STYLE.md`",
];

/**
 * Takes a real agent through the real job service: a request, its pull request, and a follow-up on
 * the same branch. Only the code host and the model are stand-ins.
 */
export async function driveAgent(agent: RealAgent, installed: InstalledAgent): Promise<Drive> {
  const startedAt = performance.now();
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const model = resources.use(await startScriptedModel());
  await mkdir(dir.file("sample/docs"), { recursive: true });
  await writeFile(dir.file(`sample/${PAGE}`), "# Quickstart\n\nInstal it. Then strat it.\n");
  const codeHost = resources.use(await createCodeHost({ dataDir: dir.file("code-host"), tokens: [TOKEN] }));
  await codeHost.createRepository("acme", "docs", dir.file("sample"));
  await mkdir(dirname(dir.file(`code/${SOURCE.path}`)), { recursive: true });
  await writeFile(dir.file(`code/${SOURCE.path}`), `${SOURCE.quote}\n`);
  await codeHost.createRepository("acme", "code", dir.file("code"));

  const config = dir.file("service.yml");
  await writeFile(
    config,
    stringify({
      listen: { host: "127.0.0.1", port: 0 },
      dataDir: "./data",
      stopGraceMinutes: 0,
      models: [
        {
          name: "scripted",
          kind: agent.kind,
          baseUrl: agent.kind === "openai" ? `${model.url}/v1` : model.url,
          keyEnv: "MODEL_KEY",
        },
      ],
      projects: [
        {
          id: "docs",
          repository: codeHost.gitUrl("acme", "docs"),
          agent: {
            preset: agent.preset,
            model: agent.model,
            timeLimitMinutes: 3,
            instructions: "Our readers are in a hurry.",
            styleGuide: ["STYLE.md"],
          },
          context: [{ name: "code", repository: codeHost.gitUrl("acme", "code") }],
          verify: [CHECK],
          codeHost: {
            kind: "github",
            apiUrl: codeHost.apiUrl,
            owner: "acme",
            repo: "docs",
            tokenEnv: "DOCS_GITHUB_TOKEN",
          },
        },
      ],
    }),
  );
  const env = {
    // Agents are often scripts for `node`. They get the one that runs this program.
    PATH: [installed.bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    DOCS_GITHUB_TOKEN: TOKEN,
    MODEL_KEY,
  };
  const command = async (...args: string[]) =>
    (await run(process.execPath, [SERVICE, ...args, "--config", config], { env })).stdout.trim();
  const apiKey = await command("keys", "create", "--project", "docs");
  const program: Program = {
    file: "src/service/main.ts",
    args: ["serve", "--config", config],
    readyMessage: "job service is ready",
  };
  const started = await AppProcess.start({ env, program });
  if (started === null) throw new Error("The job service did not start");
  resources.defer(async () => {
    // The service's agents end with it.
    started.app.signal("SIGTERM");
    await started.app.exit();
  });
  const client = createHttpJobService({ baseUrl: started.url, projectId: "docs", apiKey, timeoutMs: 20_000 });
  resources.defer(() => client.close());

  const ended = (reason: string | null, detail: string): Drive => ({
    ok: reason === null,
    reason: reason ?? `brief, context, source, finding sent back, follow-up (${followUp})`,
    detail,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  });
  let jobId = "";
  let followUp = "";
  const details = async () => `${await command("jobs", "show", jobId)}\n${callsText(model)}`;
  for (const [index, turn] of TURNS.entries()) {
    const callsBefore = model.calls.length;
    if (index > 0 && agent.losesNewSessions) await sleep(MINUTE_MS - (Date.now() % MINUTE_MS));
    const answer =
      index === 0
        ? await client.createJob(turn.ask, "turn-1")
        : await client.sendMessage(jobId, turn.ask, `turn-${index + 1}`);
    if (!answer.ok) return ended(`the service refused turn ${index + 1}: ${answer.fault.message}`, "");
    jobId = answer.job.id;
    const answered = await jobAtEnd(client, jobId);
    if (answered?.status !== "completed") {
      return ended(`turn ${index + 1} ended as ${answered?.status ?? "nothing"}`, await details());
    }
    const [pull, ...more] = codeHost.pullRequests("acme", "docs");
    if (pull === undefined) return ended(`turn ${index + 1} opened no pull request`, await details());
    if (more.length > 0) return ended("there are several pull requests", await details());
    const page = await pageOn(codeHost.gitUrl("acme", "docs"), dir.file(`look-${index}`), jobId);
    if (page !== turn.page) {
      return ended(`after turn ${index + 1} the page is ${JSON.stringify(page)}`, await details());
    }
    const calls = model.calls.slice(callsBefore);
    const fault = faultOfBrief(calls) ?? faultOfFinding(turn, calls) ?? faultOfRecord(answered.turn);
    if (fault !== null) return ended(`turn ${index + 1}: ${fault}`, await details());
    const knowsMore = knewAnswers(calls);
    // Otherwise the same wouldn't prove anything in the follow-up.
    if (index === 0 && knowsMore) return ended("turn 1 began with answers of tools", await details());
    followUp = knowsMore ? "session resumed" : "earlier turns as text";
  }
  const { stdout } = started.app;
  return ended(faultOfKeys(model, stdout) ?? faultOfLeftOut(agent, stdout), await details());
}

/**
 * True if a turn's first call for work came with answers of tools from an earlier turn. A text
 * about that turn contains no such answers.
 */
function knewAnswers(calls: readonly ModelCall[]): boolean {
  const first = calls.find(({ reply }) => reply?.kind === "call");
  return first !== undefined && first.results.length > 0;
}

/** Finds a call for work that came neither with the brief nor after it in the same session. */
function faultOfBrief(calls: readonly ModelCall[]): string | null {
  const work = calls.filter(({ reply }) => reply?.kind === "call");
  const missing = TOLD.find((text) => !work.every(({ told }) => told.includes(text)));
  return missing === undefined ? null : `the model wasn't told "${missing}"`;
}

function faultOfFinding({ finding }: (typeof TURNS)[number], calls: readonly ModelCall[]): string | null {
  if (finding === null || calls.some(({ told }) => told.includes(finding))) return null;
  return "the finding didn't go back to the agent";
}

function faultOfRecord(turn: KnownTurn | undefined): string | null {
  const seen = JSON.stringify({ checks: turn?.checks, claims: turn?.claims });
  const wanted = JSON.stringify({
    checks: [{ name: CHECK.name, result: "passed", findings: [] }],
    claims: { total: 1, verified: 1 },
  });
  if (seen !== wanted) return `the record says ${seen}`;
  return turn?.context.map(({ name }) => name).join() === "code" ? null : "the record names no context";
}

/** Finds a call that came without the operator's key, which only the service has. */
function faultOfKeys({ calls }: ScriptedModel, log: string): string | null {
  if (calls.some(({ key }) => key !== MODEL_KEY))
    return "a call reached the model without the operator's key";
  return log.includes(MODEL_KEY) ? "the service logged the model's key" : null;
}

/**
 * Finds fields that the gateway left out and that aren't known. A new version of an agent may send
 * more. Then the gateway's lists must learn them, or the agent loses something.
 */
function faultOfLeftOut({ leftOut = [] }: RealAgent, log: string): string | null {
  const lines = log.split("\n").filter((line) => line.includes("left out of calls to the model"));
  const more = lines.filter((line) => !leftOut.some((name) => line.includes(JSON.stringify(name))));
  return more.length === 0 ? null : `the gateway left more out than before: ${more.join(" ")}`;
}

/** Resolves to null if it didn't end in time. */
async function jobAtEnd(
  client: JobService,
  jobId: string,
): Promise<{ status: JobStatus; turn: KnownTurn | undefined } | null> {
  const giveUpAt = performance.now() + TURN_LIMIT_MS;
  while (performance.now() < giveUpAt) {
    const answer = await client.getJob(jobId);
    if (answer.ok && answer.job.status !== "active") {
      return { status: answer.job.status, turn: answer.report?.turns?.at(-1) };
    }
    await sleep(200);
  }
  return null;
}

async function pageOn(gitUrl: string, bare: string, jobId: string): Promise<string> {
  await run("git", ["clone", "-q", "--mirror", gitUrl, bare]);
  return (await run("git", ["-C", bare, "show", `docs-agent/${jobId}:${PAGE}`])).stdout;
}

function callsText({ calls }: ScriptedModel): string {
  const lines = calls.map(({ request, tools, results, reply }) => {
    const answer =
      reply === null ? "nothing" : reply.kind === "text" ? `"${reply.text}"` : JSON.stringify(reply);
    const last = results.at(-1)?.slice(0, 300) ?? "-";
    return `  ${request}  tools: ${tools.join(" ") || "-"}\n    last result: ${last}\n    answer: ${answer}`;
  });
  return `calls of the model:\n${lines.join("\n")}`;
}
