import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv, type AnySchema } from "ajv";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { loadRunnerSettings } from "../../src/service/runner/program/settings.ts";
import { FORCED_AFTER_MS } from "../../src/shared/machine/stop-signals.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { composeText, readCompose } from "../support/compose-file.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { $schema: _, ...schema } = JSON.parse(
  readFileSync(`${ROOT}test/fixtures/compose-spec/compose-spec.json`, "utf8"),
) as Record<string, unknown>;
const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(
  schema as AnySchema,
);
/** What is wrong with a Compose file. */
function faults(text: string): unknown[] {
  return validate(parse(text, { merge: true })) === true ? [] : (validate.errors ?? []);
}
/** The least that a runner is told. */
const RUNNER_ENV = {
  RUNNER_SERVICE_URL: "http://service:4000",
  RUNNER_TOKEN: `docsagent_runner_${"a1B2".repeat(11)}`,
  RUNNER_DATA_DIR: "/app/data",
};
const ENV = { REDIS_PASSWORD: "s3cret" };
const compose = readCompose(ENV);
const proxy = readFileSync(`${ROOT}deploy/haproxy.cfg`, "utf8");

it("compose.yml is valid by the Compose Specification's schema", () => {
  expect(faults(composeText)).toEqual([]);
});

it("would not be valid with a mistake in it", () => {
  expect(faults(composeText.replace("stop_grace_period:", "stop_grace:"))).not.toEqual([]);
});

it("names nothing that isn't there", () => {
  const { services, volumes } = compose;
  const sources = Object.values(services).flatMap((service) =>
    service.volumes.map((mount) => mount.split(":")[0]),
  );
  const files = sources.filter((source) => source?.startsWith("./") && source !== "./service.yml");
  expect(files.filter((file) => !existsSync(`${ROOT}${file ?? ""}`))).toEqual([]);
  expect(sources.filter((source) => !source?.startsWith("./")).toSorted()).toEqual(
    Object.keys(volumes).toSorted(),
  );
  const stages = [...readFileSync(`${ROOT}Dockerfile`, "utf8").matchAll(/^FROM \S+ AS (\S+)$/gm)].map(
    ([, name]) => name,
  );
  // What is built without a target is the last stage.
  expect(stages.at(-1)).toBe("app");
  expect(services["service"]?.build).toMatchObject({ target: "service" });
  expect(stages).toContain("service");
  const replicas = [...proxy.matchAll(/"\$\{REPLICA_\d-(.+)\}"/g)].map(([, to]) => to);
  expect(new Set(replicas)).toEqual(new Set(["app-1:3000", "app-2:3000"]));
  expect([services["app-1"], services["app-2"]].map((service) => service?.environment["PORT"])).toEqual([
    "3000",
    "3000",
  ]);
});

it("gives the app longer to stop than it takes, and says what is missing in .env", () => {
  const graceMs = Number.parseInt(compose.services["app-1"]?.stop_grace_period ?? "", 10) * 1000;
  expect(graceMs).toBeGreaterThan(FORCED_AFTER_MS);
  expect(() => readCompose({})).toThrow("Set REDIS_PASSWORD in .env");
});

it("a job service elsewhere is a setting", () => {
  const address = (env: object) =>
    readCompose({ ...ENV, ...env }).services["app-1"]?.environment["DOCS_AGENT_BASE_URL"];
  expect(address({})).toBe("http://service:4000");
  expect(address({ DOCS_AGENT_BASE_URL: "https://jobs.example.com" })).toBe("https://jobs.example.com");
});

it("starts without service.env where the job service is elsewhere, and never without .env", () => {
  expect(compose.services["service"]?.env_file).toEqual([{ path: "service.env", required: false }]);
  expect(compose.services["app-1"]?.env_file).toBe(".env");
});

it("ends TLS only where the profile is chosen, in front of the proxy, and keeps its certificates", () => {
  const profiles = Object.entries(compose.services).map(([name, service]) => [name, service.profiles]);
  expect(profiles.filter(([, chosen]) => chosen?.length !== 0)).toEqual([
    ["tls", ["tls"]],
    ["runner", ["runner"]],
  ]);
  const { tls } = readCompose({ ...ENV, PUBLIC_HOST: "docs-agent.example.com" }).services;
  expect(tls?.command?.slice(2)).toEqual(["--from", "docs-agent.example.com", "--to", "proxy:3000"]);
  expect(tls?.volumes).toEqual(["caddy-data:/data"]);
});

it("takes Redis for healthy only if it answers with PONG", async () => {
  await using redis = await startRedisServer({ requirepass: "right" });
  const [kind, check = ""] = compose.services["redis"]?.healthcheck?.test ?? [];
  expect(kind).toBe("CMD-SHELL");
  const here = check.replace("redis-cli", `redis-cli -p ${new URL(redis.url).port}`);
  const statusWith = (password: string) =>
    spawnSync("sh", ["-c", here], { env: { ...process.env, REDISCLI_AUTH: password } }).status;
  expect(statusWith("right")).toBe(0);
  expect(statusWith("wrong")).toBe(1);
});

it("gives Redis a bound, and has it keep no snapshots", () => {
  const command = compose.services["redis"]?.command?.join(" ") ?? "";
  expect(command).toMatch(/--save {2}--maxmemory \d+[mg]b --maxmemory-policy noeviction$/);
});

it("starts a runner only where its profile is chosen: the service's image, as contained, and no port", () => {
  const { runner, service } = compose.services;
  expect(runner).toMatchObject({
    image: service?.image,
    build: service?.build,
    cap_drop: ["ALL"],
    security_opt: service?.["security_opt"],
    healthcheck: { disable: true },
    volumes: ["runner-data:/app/data"],
  });
  expect(runner).not.toHaveProperty("ports");
  const [node, file = ""] = runner?.command ?? [];
  expect({ node, isThere: existsSync(`${ROOT}${file}`) }).toEqual({ node: "node", isThere: true });
  expect(Object.keys(runner?.environment ?? {})).toEqual(["RUNNER_DATA_DIR"]);
  const stopS = loadRunnerSettings(RUNNER_ENV).stopGraceMinutes * 60 + 30;
  expect(Number.parseInt(runner?.stop_grace_period ?? "", 10)).toBeGreaterThan(stopS);
});
