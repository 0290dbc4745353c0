import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { FORCED_AFTER_MS } from "../../src/shared/machine/stop-signals.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const example = readFileSync(`${ROOT}deploy/kubernetes.yml`, "utf8");

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

it("the example is valid by Kubernetes' own definitions", () => {
  const resources = resourcesIn(example);
  expect(resources.map(({ kind }) => kind)).toEqual([
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "Ingress",
  ]);
  expect(resources.map((resource) => faults(resource))).toEqual(resources.map(() => []));
});

it.each([
  ["a misspelled field", "readOnlyRootFilesystem", "readonlyRootFilesystem"],
  ["a number as text", "terminationGracePeriodSeconds: 30", 'terminationGracePeriodSeconds: "30"'],
  ["an unknown kind", "policy/v1", "policy/v2"],
])("would not be valid with %s in it", (_, right, wrong) => {
  const resources = resourcesIn(example.replace(right, wrong));
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
