import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { StateCommand } from "../../src/service/commands/run-command.ts";
import { createKey, listKeys, revokeKey } from "../../src/service/jobs/keys.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";

it("creates keys that are long, random and safe in a URL", async () => {
  await using subject = await ServiceUnderTest.start();
  const keys = Array.from({ length: 50 }, () =>
    createKey(subject.db, { prefix: "docsagent", projectId: "docs", nowMs: 0 }),
  );
  for (const { key } of keys) expect(key).toMatch(/^docsagent_[A-Za-z0-9_-]{43,}$/);
  expect(new Set(keys.map(({ key }) => key)).size).toBe(50);
  expect(new Set(keys.map(({ id }) => id)).size).toBe(50);
});

it("stores a key's hash and last characters, never the key", async () => {
  await using subject = await ServiceUnderTest.start();
  const key = subject.keys["docs"] ?? "";
  await subject.ask(JOBS, { body: { prompt: "Fix" }, headers: { "idempotency-key": "one" } });
  const row = subject.db.prepare("SELECT * FROM keys WHERE project_id = 'docs'").get();
  expect(row).toMatchObject({
    hash: createHash("sha256").update(key).digest("hex"),
    last4: key.slice(-4),
    revoked_at: null,
  });
  await subject.stop();
  const stored = readFileSync(subject.dir.file("job-service.sqlite"), "latin1");
  expect(stored).toContain(createHash("sha256").update(key).digest("hex"));
  expect(stored).not.toContain(key);
  expect(stored).not.toContain(key.slice("docsagent_".length));
});

it("lets several keys of a project in, and refuses a revoked one from the next request on", async () => {
  await using subject = await ServiceUnderTest.start();
  const old = subject.keys["docs"] ?? "";
  const { key } = createKey(subject.db, { prefix: "docsagent", projectId: "docs", nowMs: 1 });
  for (const sent of [old, key]) {
    expect((await subject.ask(JOBS, { body: { prompt: "Fix" }, key: sent })).status).toBe(201);
  }
  const id = listKeys(subject.db).find(({ last4 }) => last4 === old.slice(-4))?.id ?? "";
  expect(revokeKey(subject.db, id, 5)).toBe("revoked");
  expect(revokeKey(subject.db, id, 9)).toBe("revoked-before");
  expect(listKeys(subject.db).find((known) => known.id === id)?.revokedAt).toBe(5);
  expect((await subject.ask(JOBS, { body: { prompt: "Fix" }, key: old })).status).toBe(401);
  expect((await subject.ask(JOBS, { body: { prompt: "Fix" }, key })).status).toBe(201);
});

it("says that there is no such key to revoke", async () => {
  await using subject = await ServiceUnderTest.start();
  expect(revokeKey(subject.db, "key_nope", 1)).toBe("unknown");
});

it("takes no key for another: not its hash, its start, more than it, or another prefix", async () => {
  await using subject = await ServiceUnderTest.start();
  const key = subject.keys["docs"] ?? "";
  const hash = createHash("sha256").update(key).digest("hex");
  const others = [
    hash,
    key.slice(0, -1),
    `${key}x`,
    key.replace("docsagent", "mint"),
    key.toUpperCase(),
    "x".repeat(5000),
  ];
  for (const other of others) {
    expect((await subject.ask(`${JOBS}/x`, { key: other })).status).toBe(401);
  }
  expect((await subject.ask(`${JOBS}/x`)).status).toBe(404);
});

it("makes a key on the control socket for a project of the settings, and for no other", async () => {
  await using subject = await ServiceUnderTest.start();
  expect(subject.service.runCommand({ name: "create-key", project: "nope" })).toEqual({
    text: 'There is no project "nope" in the settings. Known: docs, api.',
    isRefused: true,
    isActive: false,
  });
  const { text } = subject.service.runCommand({ name: "create-key", project: "docs" });
  expect(text).toMatch(/^docsagent_[\w-]{43,}\n$/);
  expect(
    listKeys(subject.db)
      .map(({ projectId }) => projectId)
      .toSorted(),
  ).toEqual(["api", "docs", "docs"]);
  const old = listKeys(subject.db).find(({ last4 }) => last4 === subject.keys["docs"]?.slice(-4));
  subject.service.runCommand({ name: "revoke-key", id: old?.id ?? "" });
  expect(subject.service.runCommand({ name: "count-keys", project: "docs" }).text).toBe("1");
});

it("logs a line for each command, with ids and no secret", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = (await (await subject.ask(JOBS, { body: { prompt: "Fix" } })).json()) as { id: string };
  subject.logger.lines.length = 0;
  const run = (command: StateCommand) => subject.service.runCommand(command);
  const key = run({ name: "create-key", project: "docs" }).text.trim();
  // Somebody takes the key for its id.
  run({ name: "revoke-key", id: key });
  run({ name: "list-keys" });
  run({ name: "list-jobs", project: "docs", status: null });
  run({ name: "show-job", id, isRepeated: false });
  run({ name: "show-job", id, isRepeated: true });
  run({ name: "answer", job: id, question: "q-1", words: "a person's words" });
  run({ name: "cancel-job", id });
  run({ name: "archive-job", id });
  const lines = subject.logger.lines.filter(({ message }) => message.startsWith("command "));
  const keyId = expect.stringMatching(/^key_/) as string;
  expect(lines).toEqual([
    {
      level: "info",
      fields: { command: "create-key", project: "docs", key_id: keyId },
      message: "command done",
    },
    { level: "info", fields: { command: "revoke-key" }, message: "command refused" },
    { level: "info", fields: { command: "list-keys" }, message: "command done" },
    {
      level: "info",
      fields: { command: "list-jobs", project: "docs", status: null },
      message: "command done",
    },
    { level: "info", fields: { command: "show-job", job_id: id }, message: "command done" },
    { level: "debug", fields: { command: "show-job", job_id: id }, message: "command done" },
    { level: "info", fields: { command: "answer" }, message: "command refused" },
    { level: "info", fields: { command: "cancel-job", job_id: id, turns: 1 }, message: "command done" },
    { level: "info", fields: { command: "archive-job", job_id: id }, message: "command done" },
  ]);
  expect(JSON.stringify(subject.logger.lines)).not.toContain(key);
});
