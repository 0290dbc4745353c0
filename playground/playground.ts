import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { z } from "zod";
import { EXAMPLES } from "./agent/examples.ts";
import { createCodeHost } from "../world/code-host/index.ts";
import type { CodeHost } from "../world/code-host/index.ts";
import { renderedSamples } from "../gallery/gallery.ts";
import { galleryPage } from "../gallery/page.ts";
import type { AgentMood } from "./agent-mood.ts";
import { type DocsSite, startDocsSite } from "./docs-site.ts";
import { HOSTED_CHECK, startHostedChecks } from "./hosted-checks.ts";
import { startJobServiceProxy } from "./job-service-proxy.ts";
import { createManagedProcess } from "../world/managed-process.ts";
import type { ManagedProcess } from "../world/managed-process.ts";
import { createSlackSide } from "../world/slack/index.ts";
import type { SlackSide } from "../world/slack/index.ts";
import type { Secrets, StateFolder } from "./state-folder.ts";
import {
  createWeatherControls,
  createWorkspacePage,
  readAppSurface,
  seedWorkspace,
} from "./workspace/index.ts";
import { programFile } from "../src/shared/machine/this-copy.ts";

const OWNER = "tidepool";
const REPO = "docs";
const PROJECT = "docs";
/** The person who reviews, and who presses the buttons on the code host's pages. */
const REVIEWER = "priya";
const CODE_HOST_TOKEN_ENV = "PLAYGROUND_CODE_HOST_TOKEN";
const WEBHOOK_SECRET_ENV = "PLAYGROUND_WEBHOOK_SECRET";
/** Short intervals, so that nobody waits for what they came to see. */
const POLLING = { POLL_MIN_MS: "1000", POLL_MAX_MS: "5000" };
const SAVE_AFTER_MS = 300;
const KEY_TIMEOUT_MS = 30_000;

/** Options of {@link startPlayground}. */
export type PlaygroundOptions = {
  /** Released when the playground ends, or if it doesn't start. */
  state: StateFolder;
  /**
   * The page's port. The other parts listen on the ports after it. 0 means a free port for each.
   */
  port: number;
  /**
   * The agent's command, for ACP. Null means the rule-based agent that comes with the playground.
   */
  agent: string[] | null;
  /** The variables that every program needs in order to run, such as `PATH`. */
  env: Record<string, string>;
  /** Further variables that a real agent may see. */
  agentEnv: Record<string, string>;
};

/** A running playground. It ends when it is disposed of. */
export interface Playground extends AsyncDisposable {
  /** The address of the workspace page, for a browser. */
  readonly url: string;
  readonly codeHostUrl: string;
}

/**
 * Starts everything: the two stand-ins, the two programs, and the pages. If a later part fails, it
 * stops the parts that have started.
 */
export async function startPlayground(options: PlaygroundOptions): Promise<Playground> {
  const { state } = options;
  await using starting = new AsyncDisposableStack();
  starting.use(state);
  const port = (offset: number) => (options.port === 0 ? 0 : options.port + offset);
  const secrets = state.secrets();
  state.saveSecrets(secrets);

  let pageUrl = "";
  const codeHost = starting.use(
    await createCodeHost({
      dataDir: state.file("code-host"),
      port: port(1),
      tokens: [secrets.codeHostToken],
      visitor: REVIEWER,
      searchPath: options.env["PATH"],
      home: () => ({ label: "Playground", href: pageUrl }),
    }),
  );
  if (await codeHost.createRepository(OWNER, REPO, fileURLToPath(new URL("sample-docs", import.meta.url)))) {
    await codeHost.repository(OWNER, REPO).records.saveProtection("main", {
      approvals: 1,
      requiredChecks: [HOSTED_CHECK],
      isStrict: false,
      dismissesStaleReviews: false,
    });
  }
  starting.use(startHostedChecks(codeHost, { owner: OWNER, repo: REPO }));
  const site = starting.use(await startDocsSite(codeHost, { owner: OWNER, repo: REPO, port: port(5) }));

  const saved = state.workspace();
  const { scopes, events } = readAppSurface();
  const slack = starting.use(
    await createSlackSide({
      port: port(4),
      scopes,
      events,
      signingSecret: secrets.signingSecret,
      botToken: secrets.botToken,
      saved,
    }),
  );
  if (saved === undefined) seedWorkspace(slack);
  starting.defer(keepSaved(slack, state));

  const webhookSecret = randomBytes(16).toString("hex");
  const service = starting.use(serviceProcess(options, { codeHost, site, webhookSecret, port: port(3) }));
  let serviceUrl: string | null = null;
  const jobServiceProxy = starting.use(
    await startJobServiceProxy({ port: port(2), target: () => serviceUrl }),
  );
  const startService = async () => {
    serviceUrl = addressIn(await service.start());
    codeHost.rules.webhook = { url: `${serviceUrl}/webhooks/${PROJECT}`, secret: webhookSecret };
  };

  const apiKey = await serviceKey(options, secrets);
  const app = starting.use(
    appProcess(options, { slack, secrets, apiKey, jobServiceUrl: jobServiceProxy.url, codeHost, site }),
  );
  const startApp = async () => slack.setAppUrl(`${addressIn(await app.start())}/slack/events`);
  // Started together, because each takes most of a second.
  await Promise.all([startService(), startApp()]);

  const tellAgent = (mood: AgentMood) => writeFileSync(moodFile(state), `${mood}\n`);
  tellAgent("normal");
  const weather = createWeatherControls(slack, {
    setJobServiceDown: (isDown) => jobServiceProxy.setDown(isDown),
    setJobServiceSlow: (isSlow) => jobServiceProxy.setSlow(isSlow),
    killApp: () => app.kill(),
    startApp,
    appIsRunning: () => app.isRunning,
    ...(options.agent === null && { setAgentMood: tellAgent }),
  });
  const page = starting.use(
    await createWorkspacePage({
      slack,
      weather,
      port: port(0),
      examples: options.agent === null ? EXAMPLES : [],
      gallery: galleryPage(renderedSamples()),
      links: [
        { label: "Docs repository", url: `${codeHost.url}/${OWNER}/${REPO}` },
        { label: "Docs site", url: `${site.url}/docs/quickstart` },
      ],
    }),
  );
  pageUrl = page.url;
  const running = starting.move();
  return { url: page.url, codeHostUrl: codeHost.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/**
 * Saves the workspace soon after each change, and once more when the returned function is called.
 */
function keepSaved(slack: SlackSide, state: StateFolder): () => void {
  let timer: NodeJS.Timeout | null = null;
  function save(): void {
    timer = null;
    state.saveWorkspace(slack.workspace.snapshot());
  }
  save();
  const stop = slack.workspace.onChange(() => {
    timer ??= setTimeout(save, SAVE_AFTER_MS);
  });
  return () => {
    stop();
    if (timer !== null) clearTimeout(timer);
    save();
  };
}

function serviceProcess(
  options: PlaygroundOptions,
  given: { codeHost: CodeHost; site: DocsSite; webhookSecret: string; port: number },
): ManagedProcess {
  const { state, agent, env, agentEnv } = options;
  const { codeHost, site, webhookSecret, port } = given;
  const config = {
    listen: { host: "127.0.0.1", port },
    dataDir: state.file("service"),
    stopGraceMinutes: 0.1,
    // The rule-based agent is part of this project. People who try another agent have chosen it
    // themselves, and their machine may lack bubblewrap.
    containment: "none",
    projects: [
      {
        id: PROJECT,
        repository: codeHost.gitUrl(OWNER, REPO),
        agent: {
          kind: "acp",
          command: agent ?? [process.execPath, programFile("./agent/main", import.meta.url), moodFile(state)],
          timeLimitMinutes: 15,
          permissions: "ask",
        },
        verify: [
          {
            name: "links",
            command: [process.execPath, programFile("./check-links", import.meta.url)],
            findingsAt: [1],
          },
        ],
        ...(agent === null ? { model: "rule-based, no AI" } : { agentEnv: Object.keys(agentEnv) }),
        codeHost: {
          kind: "github",
          apiUrl: codeHost.apiUrl,
          owner: OWNER,
          repo: REPO,
          tokenEnv: CODE_HOST_TOKEN_ENV,
          pollSeconds: 5,
          webhookSecretEnv: WEBHOOK_SECRET_ENV,
        },
        pullRequests: { reviewers: [REVIEWER] },
        liveUrl: `${site.url}/{path}`,
      },
    ],
  };
  writeFileSync(configFile(state), stringify(config));
  return createManagedProcess({
    name: "The job service",
    args: [programFile("../src/service/main", import.meta.url), "serve", "--config", configFile(state)],
    env: {
      ...agentEnv,
      ...env,
      [CODE_HOST_TOKEN_ENV]: state.secrets().codeHostToken,
      [WEBHOOK_SECRET_ENV]: webhookSecret,
    },
    logFile: state.file("logs/service.log"),
    isReadyLine: (line) => line.includes("job service is ready"),
  });
}

/**
 * Resolves to the app's key at the job service: the one from last time, or a new one, made with an
 * operator's command.
 */
async function serviceKey({ state, env }: PlaygroundOptions, secrets: Secrets): Promise<string> {
  if (secrets.apiKey !== null) return secrets.apiKey;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      programFile("../src/service/main", import.meta.url),
      "keys",
      "create",
      "--project",
      PROJECT,
      "--config",
      configFile(state),
    ],
    { env, timeout: KEY_TIMEOUT_MS },
  );
  const apiKey = stdout.trim();
  state.saveSecrets({ ...secrets, apiKey });
  return apiKey;
}

function appProcess(
  { state, env }: PlaygroundOptions,
  parts: {
    slack: SlackSide;
    secrets: Secrets;
    apiKey: string;
    jobServiceUrl: string;
    codeHost: CodeHost;
    site: DocsSite;
  },
): ManagedProcess {
  const { slack, secrets, apiKey, jobServiceUrl, codeHost, site } = parts;
  return createManagedProcess({
    name: "The Slack app",
    args: [programFile("../src/app/main", import.meta.url)],
    env: {
      ...env,
      SLACK_BOT_TOKEN: secrets.botToken,
      SLACK_SIGNING_SECRET: secrets.signingSecret,
      SLACK_API_URL: slack.apiUrl,
      HOST: "127.0.0.1",
      PORT: "0",
      DOCS_AGENT_BASE_URL: jobServiceUrl,
      DOCS_AGENT_PROJECT_ID: PROJECT,
      DOCS_AGENT_API_KEY: apiKey,
      PULL_REQUEST_HTTP_ORIGINS: `${codeHost.url},${site.url}`,
      STORE_URL: `sqlite://${state.file("docs-agent.sqlite")}`,
      ...POLLING,
    },
    logFile: state.file("logs/app.log"),
    isReadyLine: (line) => line.includes("docs-agent is ready"),
  });
}

const ReadyLine = z.object({ address: z.string() });

/** Returns the address in a program's ready line as a URL. */
function addressIn(readyLine: string): string {
  const { address } = ReadyLine.parse(JSON.parse(readyLine));
  return address.startsWith("http") ? address : `http://${address}`;
}

function configFile(state: StateFolder): string {
  return state.file("service.yml");
}

/** The file that holds the rule-based agent's mood. The agent reads it while it works. */
function moodFile(state: StateFolder): string {
  return state.file("agent-mood");
}
