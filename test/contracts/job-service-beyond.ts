import { JobChanges, JobList } from "../../src/shared/contract/feed.ts";
import { FullJob } from "../../src/shared/contract/job.ts";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { levelOfService } from "../../src/shared/contract/level.ts";
import type { AgentQuestion } from "../../src/service/runner/runner.ts";
import { makeAttachment } from "../support/attachments.ts";
import {
  create,
  faultOf,
  get,
  type JobServiceServer,
  jobsOf,
  message,
  recordOf,
  send,
  type Sent,
  settled,
} from "./job-service-requests.ts";

const READER = { "docs-agent-capabilities": "docs-agent/1" };
const QUESTION: AgentQuestion = {
  text: "Which page?",
  choices: [
    { id: "1", label: "Install" },
    { id: "2", label: "FAQ" },
  ],
  allowsText: false,
};

/** Tests the operations of level 1, which are beyond the contract. */
export function describeJobServiceBeyond(name: string, start: () => Promise<JobServiceServer>): void {
  describe(`job service beyond the contract: ${name}`, () => {
    it("announces the same with every answer, whatever its status", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const answers = [
        await get(server, id),
        await get(server, "nope"),
        await message(server, id, ""),
        await send(server, { path: jobsOf(server), key: null }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 401]);
      const announced = new Set(answers.map(({ headers }) => headers.get("docs-agent-capabilities")));
      const levels = [...announced].map(levelOfService);
      expect(levels).toHaveLength(1);
      expect(levels[0]).toBeGreaterThanOrEqual(1);
    });

    it("tells the turns to those who ask for them", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      await server.endTurn(id, "pull-request");
      const { prLink } = await settled(server, id, "completed");
      await message(server, id, "Mention Windows too");
      await server.endTurn(id, "failed");
      await settled(server, id, "failed");
      expect(await jobOf(server, id)).toMatchObject({
        id,
        prLink,
        turns: [
          { number: 1, status: "ended", outcome: "pull-request", reason: null },
          { number: 2, status: "ended", outcome: "failed", reason: expect.stringMatching(/./) as string },
        ],
      });
      recordOf((await get(server, id)).json);
    });

    it("lists the project's jobs, each once, and no other project's", async () => {
      await using server = await start();
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(recordOf((await create(server, `Fix ${n}`)).json).id);
      const { projectId, key } = server.other;
      await send(server, { path: `/v2/agent/${projectId}/job`, body: '{"prompt":"Fix"}', key });
      const seen: string[] = [];
      let query = "?limit=2";
      for (;;) {
        const { jobs, next } = await list(server, query);
        expect(jobs.length).toBeLessThanOrEqual(2);
        seen.push(...jobs.map(({ id }) => id));
        if (next === null) break;
        query = `?limit=2&after=${encodeURIComponent(next)}`;
      }
      expect(seen.toSorted()).toEqual(ids.toSorted());
    });

    it("lists the jobs of a status", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      await create(server, "Fix more");
      await server.endTurn(id, "no-changes");
      await settled(server, id, "completed");
      expect((await list(server, "?status=completed")).jobs.map((job) => job.id)).toEqual([id]);
      faultOf(await send(server, { path: `${jobsOf(server)}?status=gone` }), 400);
    });

    it("takes files with a create and a message, and names what is wrong with others", async () => {
      await using server = await start();
      const path = jobsOf(server);
      const sendFile = (to: string, file: object) =>
        send(server, { path: to, body: JSON.stringify({ prompt: "Fix", attachments: [file] }) });
      const file = makeAttachment("notes.md", "text/markdown", "# Notes");
      const { id } = recordOf((await sendFile(path, file)).json);
      expect(recordOf((await sendFile(`${path}/${id}/message`, file)).json).id).toBe(id);
      for (const [field, wrong] of [
        ["name", { ...file, name: "" }],
        ["mediaType", { ...file, mediaType: "application/x-sh" }],
        ["data", { ...file, data: "?" }],
        ["data", { ...file, mediaType: "image/png" }],
      ] as const) {
        expect(faultOf(await sendFile(path, wrong), 400)).toContain(`attachments.0.${field}`);
      }
    });

    it("takes the authors of a prompt's quotes with a create and a message, and names faults", async () => {
      await using server = await start();
      const path = jobsOf(server);
      const sendAuthors = (to: string, authors: object) =>
        send(server, { path: to, body: JSON.stringify({ prompt: "Fix", authors }) });
      const authors = { requester: "U0ANA", quoted: ["U0BEN", null] };
      const { id } = recordOf((await sendAuthors(path, authors)).json);
      expect(recordOf((await sendAuthors(`${path}/${id}/message`, authors)).json).id).toBe(id);
      expect(faultOf(await sendAuthors(path, { ...authors, quoted: "U0BEN" }), 400)).toContain(
        "authors.quoted",
      );
    });

    it("cancels a turn, as often as it is asked to, and leaves what has ended", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const path = `${jobsOf(server)}/${id}/turn/1/cancel`;
      for (let n = 0; n < 2; n += 1) {
        const { status, json } = await send(server, { method: "POST", path, headers: READER });
        expect(status).toBe(200);
        expect(FullJob.parse(json)).toMatchObject({
          status: "failed",
          turns: [{ status: "ended", outcome: "cancelled" }],
        });
      }
      faultOf(await send(server, { method: "POST", path: path.replace("/1/", "/2/") }), 404);
      expect(recordOf((await message(server, id, "Go on")).json).status).toBe("active");
      await settled(server, id, "active");
    });

    it("archives a job for good", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      for (let n = 0; n < 2; n += 1) {
        const { json } = await send(server, { method: "POST", path: `${jobsOf(server)}/${id}/archive` });
        expect(FullJob.strict().parse(json)).toMatchObject({ id, status: "archived" });
      }
      faultOf(await message(server, id, "Go on"), 400);
    });

    it("takes one answer to a question, and tells the agent", async () => {
      await using server = await start();
      if (server.ask === null) return;
      const { id } = recordOf((await create(server, "Fix")).json);
      const asked = server.ask(id, QUESTION);
      await expect.poll(async () => (await jobOf(server, id)).questions).toHaveLength(1);
      const questionId = (await jobOf(server, id)).questions?.[0]?.id ?? "";
      const answer = (body: object) =>
        send(server, { path: `${jobsOf(server)}/${id}/answer`, body: JSON.stringify(body) });
      faultOf(await answer({ questionId, choice: "3" }), 400);
      faultOf(await answer({ questionId: "nope", choice: "1" }), 404);
      for (let n = 0; n < 2; n += 1) expect((await answer({ questionId, choice: "2" })).status).toBe(200);
      faultOf(await answer({ questionId, choice: "1" }), 409);
      expect(await asked).toEqual({ choice: "2" });
      await server.endTurn(id, "no-changes");
      await settled(server, id, "completed");
      expect((await jobOf(server, id)).questions).toEqual([]);
    });

    it("tells which jobs have changed, at once and each once, as a read shows them", async () => {
      await using server = await start();
      const one = recordOf((await create(server, "Fix")).json).id;
      const begun = await changes(server);
      expect(begun.jobs).toEqual([]);
      expect(await changes(server, begun.next)).toEqual(begun);
      const waiting = changes(server, begun.next, 30);
      const two = recordOf((await create(server, "Fix more")).json).id;
      let { jobs, next } = await waiting;
      for (; jobs.length > 0; { jobs, next } = await changes(server, next)) {
        for (const { id } of jobs) expect([one, two]).toContain(id);
      }
      await server.endTurn(one, "pull-request");
      await settled(server, one, "completed");
      const ended = await changes(server, next, 30);
      expect(ended.jobs.find(({ id }) => id === one)).toEqual(await jobOf(server, one));
      expect(await changes(server, ended.next)).toMatchObject({ jobs: [] });
      const path = `/v2/agent/${server.projectId}/changes?after=${encodeURIComponent(next)}`;
      recordOf(JobChanges.parse((await send(server, { path })).json).jobs[0]);
    });

    it("begins anew for a cursor that isn't its own, and refuses other waits", async () => {
      await using server = await start();
      const path = `/v2/agent/${server.projectId}/changes`;
      for (const after of ["", "x", "MTIzLjE", "%00"]) {
        const fault = faultOf(await send(server, { path: `${path}?after=${after}&wait=30` }), 410);
        expect(fault).toContain("Begin without one");
      }
      for (const wait of ["-1", "61", "1.5", "x"])
        faultOf(await send(server, { path: `${path}?wait=${wait}` }), 400);
    });

    it("asks for the project's key everywhere, and knows no other project's jobs", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const job = `/job/${id}`;
      const operations: Omit<Sent, "key">[] = [
        { path: `${job}/turn/1/cancel`, method: "POST" },
        { path: `${job}/archive`, method: "POST" },
        { path: `${job}/answer`, body: '{"questionId":"q","choice":"1"}' },
      ];
      for (const sent of operations) {
        const at = (projectId: string) => ({ ...sent, path: `/v2/agent/${projectId}${sent.path}` });
        faultOf(await send(server, { ...at(server.projectId), key: null }), 401);
        faultOf(await send(server, { ...at(server.projectId), key: server.other.key }), 403);
        faultOf(await send(server, { ...at(server.other.projectId), key: server.other.key }), 404);
      }
      faultOf(await send(server, { path: jobsOf(server), key: server.other.key }), 403);
      const feed = `/v2/agent/${server.projectId}/changes`;
      faultOf(await send(server, { path: feed, key: server.other.key }), 403);
      const { next } = await changes(server);
      await send(server, {
        path: `/v2/agent/${server.other.projectId}/job`,
        body: '{"prompt":"Fix"}',
        key: server.other.key,
      });
      expect((await changes(server, next)).jobs.filter((changed) => changed.id !== id)).toEqual([]);
      expect(recordOf((await get(server, id)).json).status).toBe("active");
    });
  });
}

/** Returns the answer as it was sent, after a check against the schema. */
function sent<T extends z.ZodType>(schema: T, json: unknown): z.input<T> {
  schema.parse(json);
  return json as z.input<T>;
}

async function jobOf(server: JobServiceServer, id: string): Promise<z.input<typeof FullJob>> {
  const { json } = await send(server, { path: `${jobsOf(server)}/${id}`, headers: READER });
  return sent(FullJob.strict(), json);
}

async function changes(
  server: JobServiceServer,
  after?: string,
  wait = 0,
): Promise<z.input<typeof JobChanges>> {
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}&wait=${wait}`;
  const path = `/v2/agent/${server.projectId}/changes${query}`;
  const { status, json } = await send(server, { path, headers: READER });
  expect(status).toBe(200);
  return sent(JobChanges.strict(), json);
}

async function list(server: JobServiceServer, query: string): Promise<z.input<typeof JobList>> {
  const { status, json } = await send(server, { path: `${jobsOf(server)}${query}` });
  expect(status).toBe(200);
  return sent(JobList.strict(), json);
}
