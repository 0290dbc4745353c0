import SwaggerParser from "@apidevtools/swagger-parser";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, it } from "vitest";
import { ServiceUnderTest } from "../support/service-under-test.ts";

async function documentOf(subject: ServiceUnderTest): Promise<string> {
  return await (await subject.ask("/openapi.json", { key: null })).text();
}

it("is what Redocly recommends", async () => {
  await using subject = await ServiceUnderTest.start();
  const source = await documentOf(subject);
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  const shown = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
  expect(shown).toEqual([]);
});

it("is what swagger-parser takes for OpenAPI", async () => {
  await using subject = await ServiceUnderTest.start();
  const parsed = await SwaggerParser.validate(JSON.parse(await documentOf(subject)));
  expect(Object.keys(parsed.paths ?? {})).toContain("/v2/agent/{projectId}/job/{id}/answer");
});
