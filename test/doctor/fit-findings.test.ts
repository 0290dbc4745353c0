import { expect, it } from "vitest";
import { metricsFindings } from "../../src/doctor/fit-findings.ts";

const at = (host: string, port: number) => ({ metricsAddress: { host, port } });

it.each([
  ["two ports", at("127.0.0.1", 9464), at("127.0.0.1", 9465), "ok"],
  ["two addresses", at("127.0.0.1", 9464), at("10.0.0.1", 9464), "ok"],
  ["any free port", at("127.0.0.1", 0), at("127.0.0.1", 0), "ok"],
  ["one address", at("127.0.0.1", 9464), at("127.0.0.1", 9464), "fault"],
  ["all addresses and one of them", at("0.0.0.0", 9464), at("127.0.0.1", 9464), "fault"],
  ["one of all addresses, and all", at("10.0.0.1", 9464), at("::", 9464), "fault"],
] as const)("compares where both programs serve metrics: %s", (_, app, service, level) => {
  expect([...metricsFindings(app, service)].map((finding) => finding.level)).toEqual([level]);
});
