import { describe, expect, it } from "vitest";
import { configuredProject } from "../../../src/app/rules/ports/job-service.ts";
import { jobKey, projectKey, serviceOf } from "../../../src/app/rules/project.ts";

it.each([
  ["https://agents.example", "https://agents.example"],
  ["https://agents.example/", "https://agents.example"],
  ["https://agents.example//", "https://agents.example"],
  ["https://AGENTS.example:443/", "https://agents.example"],
  ["https://agents.example/docs/", "https://agents.example/docs"],
  ["https://user:secret@agents.example/docs?key=secret#top", "https://agents.example/docs"],
  ["http://127.0.0.1:8080/", "http://127.0.0.1:8080"],
])("takes %s for the service %s", (baseUrl, service) => {
  expect(serviceOf(baseUrl)).toBe(service);
});

it("tells projects apart by service and id, whatever they are called", () => {
  const docs = { service: "https://a.example", id: "p1" };
  expect(projectKey({ ...docs, name: "docs" } as typeof docs)).toBe(projectKey(docs));
  expect(projectKey(docs)).not.toBe(projectKey({ ...docs, id: "p2" }));
  expect(projectKey(docs)).not.toBe(projectKey({ ...docs, service: "https://b.example" }));
});

it("tells jobs apart that have the same id at two services or in two projects", () => {
  const keys = ["https://a.example", "https://b.example"].flatMap((service) =>
    ["p1", "p2"].map((id) => jobKey({ service, id }, "job-1")),
  );
  expect(new Set(keys).size).toBe(4);
});

describe("the configured project that is meant", () => {
  const here = { service: "https://agents.example", id: "docs" };
  const there = { service: "https://agents.other.example", id: "docs" };
  const api = { service: "https://agents.example", id: "api" };

  it("is the one with the same service and id, whatever it is called", () => {
    expect(configuredProject([api, there, here], here)).toBe(here);
  });

  it("is the only one with that id, where the service has moved to another address", () => {
    expect(configuredProject([api, there], here)).toBe(there);
  });

  it("is none where the id is gone, or two services have it", () => {
    expect(configuredProject([api], here)).toBeUndefined();
    expect(configuredProject([there, { ...there, service: "https://third.example" }], here)).toBeUndefined();
  });
});
