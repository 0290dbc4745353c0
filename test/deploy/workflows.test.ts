import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv, type AnySchema } from "ajv";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { AGENT_PRESETS } from "../../src/service/config/agent-presets.ts";
import { realAgents } from "../agents/agents.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = `${ROOT}.github/workflows/`;
const textOf = (name: string) => readFileSync(`${FOLDER}${name}`, "utf8");
const NAMES = readdirSync(FOLDER);
const { $schema: _, ...schema } = JSON.parse(
  readFileSync(`${ROOT}test/fixtures/github-workflow-schema/github-workflow.json`, "utf8"),
) as Record<string, unknown>;
const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema as AnySchema);

const Step = z.looseObject({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).default({}),
});
const Job = z.looseObject({
  needs: z.string().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  strategy: z
    .looseObject({ matrix: z.object({ include: z.array(z.record(z.string(), z.unknown())) }) })
    .optional(),
  steps: z.array(Step),
});
const Workflow = z.looseObject({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(z.string(), Job),
});
const workflowOf = (name: string) => Workflow.parse(parse(textOf(name)));

it.each(NAMES)("%s is valid by the schema of workflows", (name) => {
  expect(validate(parse(textOf(name))) ? [] : validate.errors).toEqual([]);
  expect(validate(parse(textOf(name).replace("timeout-minutes:", "timeout-minute:")))).toBe(false);
});

it.each(NAMES)("%s names each action by its commit, and the commit's version beside it", (name) => {
  const uses = textOf(name).match(/uses: .*$/gm) ?? [];
  expect(uses).not.toEqual([]);
  expect(uses.filter((each) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual(
    [],
  );
});

it.each(NAMES)("%s puts nothing that others may choose into a script", (name) => {
  const scripts = Object.values(workflowOf(name).jobs).flatMap(({ steps }) =>
    steps.map(({ run = "" }) => run),
  );
  // What a matrix of the file has isn't chosen by others.
  expect(scripts.filter((script) => script.replaceAll("${{ matrix.part }}", "").includes("${{"))).toEqual([]);
});

it("a release gives each job only the rights that it needs", () => {
  const { permissions, jobs } = workflowOf("release.yml");
  expect(permissions).toEqual({});
  const signs = { "id-token": "write", attestations: "write" };
  expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
    package: { contents: "write", ...signs },
    image: { contents: "read", packages: "write", ...signs },
  });
  expect(jobs["image"]?.needs).toBe("package");
});

it("a release has an image for each target of the Dockerfile, with its provenance", () => {
  const image = workflowOf("release.yml").jobs["image"];
  const targets = [...readFileSync(`${ROOT}Dockerfile`, "utf8").matchAll(/^FROM base AS (\S+)$/gm)];
  const built = image?.strategy?.matrix.include.map(({ target }) => target) ?? [];
  expect(built.toSorted()).toEqual(targets.map(([, target]) => target).toSorted());
  const build = image?.steps.find(({ uses }) => uses?.startsWith("docker/build-push-action@"));
  expect(build?.with).toMatchObject({ push: true, provenance: "mode=max" });
});

it("the image has the version of the agent that is tested", () => {
  const [, pinned] = /^ARG AGENT_PACKAGE=(\S+)$/m.exec(readFileSync(`${ROOT}Dockerfile`, "utf8")) ?? [];
  const tested = realAgents.map(({ preset, version }) => `${AGENT_PRESETS[preset].npmPackage}@${version}`);
  expect(pinned).toBe(tested[0]);
});
