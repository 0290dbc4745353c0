import { AppProcess } from "./app-process.ts";
import { agentFile, type Around, startServiceWorld } from "./service-world.ts";
import type { ProxyHook } from "../../world/faults/hooked-proxy.ts";
import { openTempDir } from "./temp-dir.ts";
import { environment, startSlackSide } from "./world.ts";

type BothOptions = {
  permissions?: "ask";
  hook?: ProxyHook;
  /** Further settings of the project. */
  settings?: Around["settings"];
  /** Further variables of both programs. */
  moreEnv?: Record<string, string>;
  /** Further origins whose plain http addresses become links. */
  httpOrigins?: string[];
};

/**
 * Slack, the two programs with an agent that does what `script` says or is one, and all that stands
 * around them.
 */
export async function startBoth(
  script: readonly object[] | string,
  { permissions, hook, settings = {}, moreEnv = {}, httpOrigins = [] }: BothOptions = {},
) {
  const resources = new AsyncDisposableStack();
  const docs = resources.use(
    await startServiceWorld(hook, {
      agent:
        typeof script === "string"
          ? { kind: "command", command: [process.execPath, "--input-type=module", "-e", script] }
          : {
              kind: "acp",
              command: [process.execPath, agentFile("acp-agent"), JSON.stringify(script)],
              ...(permissions === undefined ? {} : { permissions }),
            },
      settings,
    }),
  );
  const dir = resources.use(await openTempDir());
  const slack = resources.use(await startSlackSide());
  const service = resources.use(new AppProcess({ env: { ...docs.env, ...moreEnv }, program: docs.program }));
  const baseUrl = (await service.ready()) ?? "";
  const env = {
    ...environment(slack, { baseUrl }),
    DOCS_AGENT_API_KEY: docs.apiKey,
    PULL_REQUEST_HTTP_ORIGINS: [docs.codeHostUrl, ...httpOrigins].join(),
    STORE_URL: `sqlite://${dir.file("state.sqlite")}`,
    POLL_MIN_MS: "50",
    POLL_MAX_MS: "200",
    ...moreEnv,
  };
  async function startApp(): Promise<AppProcess> {
    const app = resources.use(new AppProcess({ env }));
    slack.setAppUrl(`${await app.ready()}/slack/events`);
    return app;
  }
  return {
    docs,
    slack,
    service,
    baseUrl,
    app: await startApp(),
    startApp,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
