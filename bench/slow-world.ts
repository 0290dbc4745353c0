import { createHmac } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { commitTo } from "../test/support/commit-to.ts";
import { writeFiles } from "../test/support/repository-of.ts";
import { SLOW_TEXTS, slowAgent, slowRequest, type SlowText } from "../test/support/slow-texts.ts";
import { SAID_BY_CLIENT } from "../src/shared/contract/level.ts";
import type { Checkout } from "./checkout.ts";
import { Program } from "./program.ts";
import { BenchError } from "./scenario.ts";
import { type ProjectSettings, ServiceProgram } from "./service-program.ts";

const CODE_HOST = fileURLToPath(new URL("code-host.ts", import.meta.url));
const SECRETS = {
  BENCH_TOKEN: "bench-token-0123456789",
  BENCH_WEBHOOK: "bench-webhook-0123456789",
};
const REVIEWER_TOKEN = "bench-reviewer-0123456789";
const START_FILES = { "README.md": "# Acme\n", "docs/quickstart.md": "# Quickstart\n" };
/**
 * The largest review that GitHub takes, of a character that is longest in JSON. There are as many
 * as the service reads.
 */
const LONGEST_REVIEW = "\u0001".repeat(65_536);
const REVIEWS = 30;
const ENDS_WITHIN_MS = 240_000;
const ASKS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** The projects beside those of the slow texts. */
const [ASKED, OTHER, PLAIN, REVIEWED] = ["asked", "other", "plain", "reviewed"];
const QUESTION = "Look at the website";
const ADD_A_LINE = ["sh", "-c", "echo more >> docs/quickstart.md"];
/** An ACP agent that asks a person a question, which nobody answers. */
const ASKING = [
  `read l; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'`,
  `read l; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'`,
  `read l; echo '${JSON.stringify({
    jsonrpc: "2.0",
    id: "ask",
    method: "session/request_permission",
    params: {
      sessionId: "s",
      toolCall: { toolCallId: "t", title: QUESTION, kind: "fetch" },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    },
  })}'`,
  "sleep 3600",
].join("; ");

const Host = z.object({ apiUrl: z.string(), repositories: z.string() });
type Host = z.infer<typeof Host>;
const Pulls = z.array(z.object({ number: z.number(), head: z.object({ ref: z.string() }) }));

/** A kind of slow text: its name, a function that runs it once, and the time to measure it for. */
type SlowKind = { name: string; run: () => Promise<void>; forMs: number };
/** The world that {@link openSlowWorld} opens. */
export type SlowWorld = Awaited<ReturnType<typeof openSlowWorld>>;

/**
 * Starts a code host and the service, with a project for each kind of slow text and a few others.
 * One job of these others waits for an answer.
 */
export async function openSlowWorld(checkout: Checkout, dir: string) {
  const stack = new AsyncDisposableStack();
  const texts = Object.entries(SLOW_TEXTS).map(([name, text], at) => ({ name, text, id: `slow-${at}` }));
  const samples = join(dir, "samples");
  for (const { id, text } of texts) await writeFiles(join(samples, id), { ...START_FILES, ...text.files });
  for (const id of [ASKED, OTHER, PLAIN, REVIEWED]) await writeFiles(join(samples, id), START_FILES);
  const options = {
    dataDir: join(dir, "code-host"),
    samples,
    token: SECRETS.BENCH_TOKEN,
    reviewerToken: REVIEWER_TOKEN,
  };
  const nodeArgs = [CODE_HOST, JSON.stringify(options)];
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
  const program = stack.use(await Program.start({ nodeArgs, env, dir, hasChannel: true }));
  const host = Host.parse(program.ready);

  const service = stack.use(
    await ServiceProgram.serve({
      checkout,
      dir: join(dir, "service"),
      jobsAtOnce: 4,
      env: SECRETS,
      projects: [
        projectOf(host, ASKED, { kind: "acp", command: ["sh", "-c", ASKING], permissions: "ask" }),
        ...[OTHER, PLAIN, REVIEWED].map((id) =>
          projectOf(host, id, { kind: "command", command: ADD_A_LINE }),
        ),
        ...texts.map(({ id, text }) => slowProject(host, id, text)),
      ],
    }),
  );
  const asked = await service.create(ASKED);
  const giveUpAt = performance.now() + ASKS_WITHIN_MS;
  while (!JSON.stringify(await getJob(SAID_BY_CLIENT.join(", "))).includes(QUESTION)) {
    if (performance.now() > giveUpAt) throw new BenchError("The agent's question didn't come.");
    await sleep(LOOK_EVERY_MS);
  }

  function getJob(reads: string): Promise<unknown> {
    return service.ask(ASKED, { path: `/${asked}`, reads });
  }

  async function ended(project: string, jobId: string): Promise<string> {
    const waiting = { project, withinMs: ENDS_WITHIN_MS, lookEveryMs: LOOK_EVERY_MS };
    return (await service.ended(jobId, waiting)).status;
  }

  async function runSlow(id: string, { review }: SlowText): Promise<void> {
    const jobId = await service.create(id, slowRequest());
    await ended(id, jobId);
    if (review === undefined) return;
    const branch = `docs-agent/${jobId}`;
    const number = await pullOf(host, id, branch);
    await asPerson(host, "PATCH", `${id}/pulls/${number}`, { body: review.text });
    const files = { "docs/suggested.md": "Better\n" };
    await commitTo(join(host.repositories, `${id}.git`), branch, files, { message: review.message });
    await service.ask(id, { path: `/${jobId}/message`, body: JSON.stringify(slowRequest(review.text)) });
    await ended(id, jobId);
  }

  /** Opens a pull request with many long reviews. Each webhook makes the service read them. */
  async function openReviewed(): Promise<() => Promise<void>> {
    const jobId = await service.create(REVIEWED);
    await ended(REVIEWED, jobId);
    const number = await pullOf(host, REVIEWED, `docs-agent/${jobId}`);
    for (let review = 0; review < REVIEWS; review += 1) {
      const body = { event: "COMMENT", body: LONGEST_REVIEW };
      await asPerson(host, "POST", `${REVIEWED}/pulls/${number}/reviews`, body);
    }
    const body = JSON.stringify({
      repository: { full_name: `acme/${REVIEWED}` },
      pull_request: { number },
    });
    const signature = `sha256=${createHmac("sha256", SECRETS.BENCH_WEBHOOK).update(body).digest("hex")}`;
    const headers = { "content-type": "application/json", "x-hub-signature-256": signature };
    return async () => {
      const url = `${service.address}/webhooks/${REVIEWED}`;
      await (await fetch(url, { method: "POST", headers, body })).text();
      await sleep(LOOK_EVERY_MS);
    };
  }

  const reviewed = await openReviewed();
  const gets = [() => getJob(""), () => getJob(SAID_BY_CLIENT.join(", ")), () => service.ask(ASKED, {})];
  const kinds: SlowKind[] = [
    ...texts.map(({ id, name, text }) => ({ name, run: () => runSlow(id, text), forMs: 5_000 })),
    // The service looks at once, and less often after a few times.
    { name: "long reviews, of which webhooks tell all the time", run: reviewed, forMs: 20_000 },
  ];
  return {
    kinds,
    /** Makes one of three GETs: a project's job alone, with everything, or the list. */
    get: (index: number) => gets[index % gets.length]?.(),
    /** The id of the process that answers. */
    pid: service.program.pid,
    /** Runs a turn of another project. Resolves to true if it was completed. */
    runTurn: async () => (await ended(OTHER, await service.create(OTHER))) === "completed",
    /** Runs a turn of a project whose agent adds a line, like the turns of slow texts. */
    runPlain: async () => void (await ended(PLAIN, await service.create(PLAIN, slowRequest()))),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function projectOf(host: Host, id: string, agent: object): ProjectSettings {
  return {
    id,
    repository: join(host.repositories, `${id}.git`),
    agent: { timeLimitMinutes: 2, maxOutputBytes: 1024 ** 3, ...agent },
    codeHost: {
      kind: "github",
      apiUrl: host.apiUrl,
      owner: "acme",
      repo: id,
      tokenEnv: "BENCH_TOKEN",
      webhookSecretEnv: "BENCH_WEBHOOK",
      pollSeconds: 3600,
    },
    limits: { createsPerHour: 100_000, messagesPerHour: 100_000, jobsAtOnce: 2, queued: 10_000 },
  };
}

function slowProject(host: Host, id: string, text: SlowText): ProjectSettings {
  const source = `import * as fs from "node:fs"; ${slowAgent(text)}`;
  const command = [process.execPath, "--input-type=module", "-e", source];
  return {
    ...projectOf(host, id, { kind: text.kind ?? "command", command }),
    verify:
      text.check === undefined
        ? []
        : [{ name: "lines", command: ["sh", "-c", text.check], timeoutSeconds: 30, blocking: false }],
  };
}

async function asPerson({ apiUrl }: Host, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${apiUrl}/repos/acme/${path}`, {
    method,
    headers: { authorization: `token ${REVIEWER_TOKEN}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new BenchError(`The code host answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function pullOf(host: Host, repo: string, branch: string): Promise<number> {
  const pulls = Pulls.parse(await asPerson(host, "GET", `${repo}/pulls?per_page=100`));
  const found = pulls.find(({ head }) => head.ref === branch);
  if (found === undefined) throw new BenchError(`There is no pull request of ${branch}.`);
  return found.number;
}
