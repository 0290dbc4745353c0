import { describe, expect, it } from "vitest";
import { ConfigError, loadConfig, secretsOf, type Config } from "../../src/app/config/config.ts";

const ENV = {
  SLACK_BOT_TOKEN: "xoxb-1234567890-abcdefghijkl",
  SLACK_SIGNING_SECRET: "8f742231b10e8888abcd9912345685a5",
  DOCS_AGENT_BASE_URL: "https://jobs.example.com",
  DOCS_AGENT_PROJECT_ID: "docs",
  DOCS_AGENT_API_KEY: "docsagent_not-a-real-key",
};

function load(env: Record<string, string>): Config {
  return loadConfig({ ...ENV, ...env });
}

function faultsOf(env: Record<string, string>): string {
  try {
    load(env);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.message;
    throw thrown;
  }
  throw new Error("these settings were accepted");
}

describe("the job service's address", () => {
  it.each([
    "https://jobs.example.com/v2",
    "https://jobs.example.com/v2/",
    "https://jobs.example.com/agents/V2//",
    "https://jobs.example.com/v2?x=1",
  ])("is refused with /v2 at its end: %s", (url) => {
    expect(faultsOf({ DOCS_AGENT_BASE_URL: url })).toContain(
      "DOCS_AGENT_BASE_URL must be the URL of the job service, with http:// or https:// before it and " +
        "without /v2 at its end.",
    );
    const projects = JSON.stringify([
      { name: "docs", id: "docs" },
      { name: "api", id: "api", baseUrl: url },
    ]);
    expect(faultsOf({ DOCS_AGENT_PROJECTS: projects })).toContain(
      "(wrong: 1.baseUrl must be without /v2 at its end).",
    );
  });

  it.each(["https://jobs.example.com/v2/agents", "https://v2.example.com", "https://jobs.example.com/av2"])(
    "may hold it elsewhere: %s",
    (url) => {
      expect(load({ DOCS_AGENT_BASE_URL: url }).projects[0].baseUrl).toBe(url);
    },
  );

  it.each(["jobs.example.com", "v2", "ftp://jobs.example.com/v2", "https://"])(
    "is refused when it is no address: %s",
    (url) => {
      expect(faultsOf({ DOCS_AGENT_BASE_URL: url })).toContain("DOCS_AGENT_BASE_URL must be");
    },
  );
});

it("the time limit of a request is as long as a timer can be at most", () => {
  expect(load({ JOB_SERVICE_TIMEOUT_MS: "2147483647" }).jobServiceTimeoutMs).toBe(2_147_483_647);
  expect(faultsOf({ JOB_SERVICE_TIMEOUT_MS: "2147483648" })).toContain(
    "JOB_SERVICE_TIMEOUT_MS must be a whole number of milliseconds from 1 to 2147483647.",
  );
});

describe("the store's URL", () => {
  it.each([
    "sqlite://./data/x.sqlite",
    "sqlite:///data/x.sqlite",
    "memory://",
    "redis://host:6379",
    "rediss://h",
  ])("may be %s", (url) => {
    expect(load({ STORE_URL: url }).storeUrl).toBe(url);
  });

  it.each(["./data/x.sqlite", "sqlite://", "sqlite:x", "redis:/host", "memory://x", "postgres://host/db"])(
    "can't be %s",
    (url) => {
      expect(faultsOf({ STORE_URL: url })).toContain("STORE_URL must be sqlite://path, ");
    },
  );
});

describe("idempotency keys", () => {
  function honored(env: Record<string, string>): Record<string, boolean> {
    return Object.fromEntries(load(env).projects.map((project) => [project.name, project.idempotencyKeys]));
  }

  it("are not relied on unless a setting says so", () => {
    expect(honored({})).toEqual({ default: false });
    expect(honored({ DOCS_AGENT_IDEMPOTENCY_KEYS: "false" })).toEqual({ default: false });
    expect(honored({ DOCS_AGENT_IDEMPOTENCY_KEYS: "true" })).toEqual({ default: true });
  });

  it("are a setting of each project, which the general one does not reach at another service", () => {
    const projects = [
      { name: "docs", id: "docs" },
      { name: "api", id: "api", idempotencyKeys: false },
      { name: "other", id: "other", baseUrl: "https://other.example.com" },
      { name: "honoring", id: "h", baseUrl: "https://other.example.com", idempotencyKeys: true },
    ];
    const env = { DOCS_AGENT_PROJECTS: JSON.stringify(projects) };
    expect(honored(env)).toEqual({ docs: false, api: false, other: false, honoring: true });
    expect(honored({ ...env, DOCS_AGENT_IDEMPOTENCY_KEYS: "true" })).toEqual({
      docs: true,
      api: false,
      other: false,
      honoring: true,
    });
  });

  it("are true or false, and nothing else", () => {
    expect(faultsOf({ DOCS_AGENT_IDEMPOTENCY_KEYS: "yes" })).toContain(
      "DOCS_AGENT_IDEMPOTENCY_KEYS must be true or false.",
    );
    const projects = '[{"name":"docs","id":"docs","idempotencyKeys":"true"}]';
    expect(faultsOf({ DOCS_AGENT_PROJECTS: projects })).toContain("(wrong: 0.idempotencyKeys).");
  });
});

describe("proxies", () => {
  it("are none unless they are set", () => {
    expect(load({}).proxy).toEqual({ http: "", https: "", none: "" });
    expect(load({ HTTPS_PROXY: "", http_proxy: " ", NO_PROXY: "" }).proxy).toEqual({
      http: "",
      https: "",
      none: "",
    });
  });

  it("are read from both spellings, lower case first", () => {
    expect(
      load({
        HTTP_PROXY: "http://a.internal:3128",
        HTTPS_PROXY: "http://b.internal:3128",
        https_proxy: "https://c.internal",
        no_proxy: "localhost,.internal",
      }).proxy,
    ).toEqual({ http: "http://a.internal:3128", https: "https://c.internal", none: "localhost,.internal" });
  });

  it("may be written without http://", () => {
    expect(load({ HTTPS_PROXY: "proxy.internal:3128" }).proxy.https).toBe("http://proxy.internal:3128");
  });

  it("of another kind are refused, and the setting is named as it was written", () => {
    const message = faultsOf({ HTTPS_PROXY: "socks5://ana:secret@proxy.internal", http_proxy: "http://" });
    expect(message).toContain("HTTPS_PROXY must be the http(s) URL of your proxy");
    expect(message).toContain("http_proxy must be");
    expect(faultsOf({ HTTPS_PROXY: "http://ana:100%secret@proxy.internal" })).toContain("HTTPS_PROXY");
    expect(message).not.toContain("secret");
  });

  it("with a password add it to the secrets, as it is written and as it is sent", () => {
    const config = load({ HTTPS_PROXY: "http://ana:p%40ss-word@proxy.internal:3128" });
    expect(secretsOf(config)).toEqual(expect.arrayContaining(["p%40ss-word", "p@ss-word"]));
    expect(secretsOf(load({}))).not.toContain("");
  });
});

describe("a name that is no setting", () => {
  it.each([
    ["DOCS_AGENT_PROJEKTS", "DOCS_AGENT_PROJECTS"],
    ["SLACK_API_ULR", "SLACK_API_URL"],
    ["POLL_MIN_MILLIS", null],
    ["LOG_LEVLE", "LOG_LEVEL"],
    ["JOB_DEADLINE", "JOB_DEADLINE_MS"],
  ])("%s is refused where it looks like one: %s", (name, meant) => {
    if (meant === null) expect(() => load({ [name]: "x" })).not.toThrow();
    else expect(faultsOf({ [name]: "x" })).toContain(`${name} isn't a setting. Did you mean ${meant}?`);
  });

  it("is left alone beside the setting that it looks like, or for another program", () => {
    const others = {
      DOCS_AGENT_API_KEY_2: "x",
      // Kubernetes sets these for a Service named docs-agent.
      DOCS_AGENT_PORT: "tcp://10.0.0.1:3000",
      DOCS_AGENT_SERVICE_HOST: "10.0.0.1",
      DOCS_AGENT_PORT_3000_TCP_PROTO: "tcp",
      FTP_PROXY: "http://proxy.example.com",
      HOSTS: "x",
      PATH: "/bin",
    };
    expect(load(others)).toEqual(load({}));
  });
});
