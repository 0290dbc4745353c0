import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { ServiceSettings } from "../../src/service/config/config-schema.ts";
import { loadRunnerSettings } from "../../src/service/runner/program/settings.ts";
import { FORCED_AFTER_MS } from "../../src/shared/machine/stop-signals.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const example = readFileSync(`${ROOT}deploy/kubernetes.yml`, "utf8");
const ofService = readFileSync(`${ROOT}deploy/kubernetes-service.yml`, "utf8");

const ofRunner = readFileSync(`${ROOT}deploy/kubernetes-runner.yml`, "utf8");

const Definition = z.looseObject({
  format: z.string().optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  "x-kubernetes-group-version-kind": z
    .array(z.object({ group: z.string(), version: z.string(), kind: z.string() }))
    .optional(),
});
const { definitions } = z
  .object({ definitions: z.record(z.string(), Definition) })
  .parse(JSON.parse(readFileSync(`${ROOT}test/fixtures/kubernetes-schema/definitions.json`, "utf8")));

/** As `kubectl apply --validate=strict` reads the definitions: a field they don't have is a mistake. */
const strict = Object.fromEntries(
  Object.entries(definitions).map(([name, definition]) => {
    // OpenAPI 2 has no type for it.
    if (definition.format === "int-or-string") return [name, { type: ["integer", "string"] }];
    return [
      name,
      definition.properties === undefined ? definition : { ...definition, additionalProperties: false },
    ];
  }),
);

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const Resource = z.looseObject({ apiVersion: z.string(), kind: z.string() });

function resourcesIn(text: string): z.infer<typeof Resource>[] {
  return parseAllDocuments(text).map((document) => Resource.parse(document.toJS()));
}

/** What is wrong with it. */
function faults(resource: z.infer<typeof Resource>): unknown[] {
  const [name] =
    Object.entries(definitions).find(([, definition]) =>
      definition["x-kubernetes-group-version-kind"]?.some(
        ({ group, version, kind }) =>
          kind === resource.kind && [group, version].filter(Boolean).join("/") === resource.apiVersion,
      ),
    ) ?? [];
  if (name === undefined) return [`no ${resource.apiVersion} ${resource.kind}`];
  const validate = ajv.compile({ $ref: `#/definitions/${name}`, definitions: strict });
  return validate(resource) === true ? [] : (validate.errors ?? []);
}

it.each([
  ["Slack app", example, ["Deployment", "Service", "PodDisruptionBudget", "Ingress"]],
  ["job service", ofService, ["StatefulSet", "Service", "NetworkPolicy"]],
  ["runner", ofRunner, ["Deployment", "NetworkPolicy"]],
])("the example of the %s is valid by Kubernetes' own definitions", (_, text, kinds) => {
  const resources = resourcesIn(text);
  expect(resources.map(({ kind }) => kind)).toEqual(kinds);
  expect(resources.map((resource) => faults(resource))).toEqual(resources.map(() => []));
});

it.each([
  ["a misspelled field", "readOnlyRootFilesystem", "readonlyRootFilesystem"],
  ["a number as text", "terminationGracePeriodSeconds: 30", 'terminationGracePeriodSeconds: "30"'],
  ["an unknown kind", "policy/v1", "policy/v2"],
  ["a namespace for users that isn't yes or no", "hostUsers: false", "hostUsers: none"],
])("would not be valid with %s in it", (_, right, wrong) => {
  const resources = [example, ofService]
    .filter((text) => text.includes(right))
    .flatMap((text) => resourcesIn(text.replace(right, wrong)));
  expect(resources.flatMap((resource) => faults(resource))).not.toEqual([]);
});

const Deployment = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          z.looseObject({
            lifecycle: z.looseObject({
              preStop: z.looseObject({ exec: z.object({ command: z.array(z.string()) }) }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

it("gives a pod longer to stop than preStop and the app's stop take", () => {
  const { spec } = Deployment.parse(resourcesIn(example)[0]).spec.template;
  const [, pauseS = ""] = spec.containers[0].lifecycle.preStop.exec.command;
  expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(Number(pauseS) * 1000 + FORCED_AFTER_MS);
});

/** The job service's settings where its file says nothing. */
const DEFAULTS = ServiceSettings.parse({
  dataDir: "./data",
  projects: [
    {
      id: "docs",
      repository: "https://github.com/acme/docs",
      agent: { preset: "opencode" },
      codeHost: { kind: "none" },
    },
  ],
});
const Pod = z.looseObject({
  spec: z.looseObject({
    replicas: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.looseObject({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        hostUsers: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            ports: z.tuple([z.object({ name: z.string(), containerPort: z.number() })]),
            volumeMounts: z.array(z.looseObject({ mountPath: z.string() })),
            securityContext: z.looseObject({ allowPrivilegeEscalation: z.literal(false) }),
          }),
        ]),
      }),
    }),
  }),
});

it("runs one job service, which may make namespaces, where the Slack app can reach it", () => {
  const [set, service, policy] = resourcesIn(ofService);
  const { replicas, template, selector } = Pod.parse(set).spec;
  const [container] = template.spec.containers;
  expect(replicas).toBe(1);
  expect(selector.matchLabels).toEqual(template.metadata.labels);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "Unconfined" },
    appArmorProfile: { type: "Unconfined" },
    procMount: "Unmasked",
  });
  const { listen, stopGraceMinutes } = DEFAULTS;
  expect(container.ports).toEqual([{ name: "http", containerPort: listen.port }]);
  // As long again for what a stop does beside waiting for turns.
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(stopGraceMinutes * 60 + 30);
  expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
    "/app/service.yml",
    "/app/data",
    "/tmp",
  ]);
  expect(ofService).toContain(`DOCS_AGENT_BASE_URL is http://docs-agent-service:${listen.port}.`);
  expect(service).toMatchObject({
    metadata: { name: "docs-agent-service" },
    spec: { selector: template.metadata.labels, ports: [{ port: listen.port, targetPort: "http" }] },
  });
  expect(policy).toMatchObject({
    spec: {
      podSelector: { matchLabels: template.metadata.labels },
      ingress: [
        {
          from: ["docs-agent", "docs-agent-runner"].map((app) => ({ podSelector: { matchLabels: { app } } })),
        },
      ],
    },
  });
});

const RunnerPod = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        hostUsers: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            command: z.tuple([z.literal("node"), z.string()]),
            env: z.array(z.object({ name: z.string(), value: z.string() })),
            securityContext: z.looseObject({}),
          }),
        ]),
      }),
    }),
  }),
});

it("runs runners in the service's image, as contained as that, with settings that they take", () => {
  const [deployment, policy] = resourcesIn(ofRunner);
  const { metadata, spec } = RunnerPod.parse(deployment).spec.template;
  const [container] = spec.containers;
  const [service] = Pod.parse(resourcesIn(ofService)[0]).spec.template.spec.containers;
  expect(container).toMatchObject({ image: service.image, securityContext: service.securityContext });
  expect(container).not.toHaveProperty("ports");
  expect(existsSync(`${ROOT}${container.command[1]}`)).toBe(true);
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  const token = `docsagent_runner_${"a1B2".repeat(11)}`;
  const { serviceUrl, stopGraceMinutes } = loadRunnerSettings({ ...env, RUNNER_TOKEN: token });
  expect(serviceUrl).toBe(`http://docs-agent-service:${DEFAULTS.listen.port}`);
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(stopGraceMinutes * 60 + 30);
  // Nobody may call it, and the service's policy lets it call.
  expect(policy).toMatchObject({
    spec: { podSelector: { matchLabels: metadata.labels }, policyTypes: ["Ingress"] },
  });
  expect(policy?.["spec"]).not.toHaveProperty("ingress");
});
