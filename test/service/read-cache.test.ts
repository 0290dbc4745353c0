import { once } from "node:events";
import { connect } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { ReadCache } from "../../src/service/read-cache.ts";
import { ServiceUnderTest } from "../support/job-service.ts";
import { openTempDir } from "../support/temp-dir.ts";

const JOBS = "/v2/agent/docs/job";

/** What goes over the wire, but for the date. */
async function bytesOf(subject: ServiceUnderTest, path: string, method = "GET"): Promise<string> {
  const socket = connect(Number(new URL(subject.url).port), "127.0.0.1");
  await once(socket, "connect");
  const key = subject.keys["docs"] ?? "";
  socket.end(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  let read = "";
  for await (const chunk of socket.setEncoding("utf8")) read += String(chunk);
  return read.replace(/\r\ndate: .*/i, "");
}

async function createdId(subject: ServiceUnderTest): Promise<string> {
  const answer = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  return ((await answer.json()) as { id: string }).id;
}

it("answers a job that is read again with the same bytes, and with the headers of all other answers", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await createdId(subject);
  await subject.runner.run(1);
  const first = await bytesOf(subject, `${JOBS}/${id}`);
  expect(await bytesOf(subject, `${JOBS}/${id}`)).toBe(first);
  const [head = "", body = ""] = first.split("\r\n\r\n");
  expect(JSON.parse(body)).toMatchObject({ id, status: "active" });
  const names = (text: string) => text.split("\r\n").map((line) => line.split(":")[0]);
  const refused = (await bytesOf(subject, `${JOBS}/nope`)).split("\r\n\r\n")[0] ?? "";
  expect(names(head).slice(1)).toEqual(names(refused).slice(1));
  expect(head).toContain("HTTP/1.1 200 OK\r\ncache-control: no-store\r\ncontent-type: application/json\r\n");
  expect(await bytesOf(subject, `${JOBS}/${id}`, "HEAD")).not.toContain(body);
});

it("tells each client what it reads, and shows a job's changes at once", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await createdId(subject);
  const run = await subject.runner.run(1);
  const read = async (reads?: string) => {
    const headers = reads === undefined ? {} : { "docs-agent-capabilities": reads };
    return (await (await subject.ask(`${JOBS}/${id}`, { headers })).json()) as Record<string, unknown>;
  };
  const fields = async (reads?: string) =>
    Object.keys(await read(reads)).filter((name) => /^[tq]/.test(name));
  for (let again = 0; again < 2; again += 1) {
    expect(await fields()).toEqual([]);
    expect(await fields("turns")).toEqual(["turns"]);
    expect(await fields("questions, Turns, more")).toEqual(["turns", "questions"]);
  }
  expect(await read()).toMatchObject({ status: "active" });
  run.end({ kind: "no-changes", summary: null });
  await expect.poll(async () => (await read())["status"]).toBe("completed");
  await subject.ask(`${JOBS}/${id}/archive`, { method: "POST" });
  expect(await read()).toMatchObject({ status: "archived" });
  expect((await subject.ask(`${JOBS}/${id}`, { key: subject.keys["api"] ?? "" })).status).toBe(403);
  expect((await subject.ask(`/v2/agent/api/job/${id}`, { key: subject.keys["api"] ?? "" })).status).toBe(404);
});

it("keeps a text only until this connection or another one writes, and no more than it may", async () => {
  await using dir = await openTempDir();
  const own = new DatabaseSync(dir.file("state.sqlite"));
  own.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text)");
  using other = new DatabaseSync(dir.file("state.sqlite"));
  const cache = new ReadCache(own);
  let made = 0;
  const get = (name: string, text = "x") => {
    const before = made;
    expect(cache.get(name, () => ((made += 1), text))).toBe(text);
    return made === before ? "kept" : "made";
  };
  expect([get("a"), get("a"), get("b")]).toEqual(["made", "kept", "made"]);
  own.exec("INSERT INTO notes VALUES ('mine')");
  expect([get("a"), get("a")]).toEqual(["made", "kept"]);
  other.exec("INSERT INTO notes VALUES ('theirs')");
  expect([get("a"), get("a")]).toEqual(["made", "kept"]);
  expect([cache.get("none", () => null), get("none")]).toEqual([null, "made"]);
  // Neither many texts nor a huge one stay.
  for (let large = 0; large < 20; large += 1) get(`large ${large}`, "x".repeat(1024 ** 2));
  expect(get("a")).toBe("made");
  const huge = "x".repeat(20 * 1024 ** 2);
  expect([get("huge", huge), get("huge", huge)]).toEqual(["made", "made"]);
  own.close();
});
