import { describe, expect, it } from "vitest";
import {
  create,
  faultOf,
  get,
  type JobServiceServer,
  jobsOf,
  message,
  recordOf,
  send,
  settled,
  TIMESTAMP,
} from "./job-service-requests.ts";

const PULL_REQUEST = /^https?:\/\/[^/]+\/[^/]+\/[^/]+\/pull\/\d+$/;

/**
 * Tests a service of the contract with requests of every kind, right and wrong. Runs against any
 * service.
 */
export function describeJobServiceServer(name: string, start: () => Promise<JobServiceServer>): void {
  describe(`job service conformance: ${name}`, () => {
    it("answers a create with 201 and an active job", async () => {
      await using server = await start();
      const { status, json } = await create(server, "Fix the install page");
      expect(status).toBe(201);
      expect(recordOf(json)).toMatchObject({ status: "active", prLink: null, archivedAt: null });
    });

    it("shows the same fields through the whole life of a job", async () => {
      await using server = await start();
      const created = recordOf((await create(server, "Fix")).json);
      const read = recordOf((await get(server, created.id)).json);
      expect(read).toEqual(created);

      await server.endTurn(created.id, "pull-request");
      const completed = await settled(server, created.id, "completed");
      expect(completed.prLink).toMatch(PULL_REQUEST);
      expect({ ...completed, status: created.status, prLink: null }).toEqual(created);
    });

    it("completes without a pull request when nothing was changed", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      await server.endTurn(id, "no-changes");
      expect((await settled(server, id, "completed")).prLink).toBeNull();
    });

    it("is active again from the message's answer on, and ends again", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      await server.endTurn(id, "pull-request");
      const first = await settled(server, id, "completed");
      const { status, json } = await message(server, id, "Mention Windows too");
      expect(status).toBe(200);
      expect(recordOf(json)).toMatchObject({ id, status: "active", prLink: first.prLink });
      expect(recordOf((await get(server, id)).json).status).toBe("active");
      await server.endTurn(id, "no-changes");
      expect((await settled(server, id, "completed")).prLink).toBe(first.prLink);
    });

    it("takes a message for a job that failed", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      await server.endTurn(id, "failed");
      await settled(server, id, "failed");
      expect(recordOf((await message(server, id, "Try harder")).json).status).toBe("active");
      await server.endTurn(id, "no-changes");
      await settled(server, id, "completed");
    });

    it("works on a message that comes while a turn runs after that turn", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      expect(recordOf((await message(server, id, "And more")).json).status).toBe("active");
      await server.endTurn(id, "pull-request");
      await server.endTurn(id, "no-changes");
      expect((await settled(server, id, "completed")).prLink).toMatch(PULL_REQUEST);
    });

    it("refuses a message to an archived job with 400", async () => {
      await using server = await start();
      if (server.archive === null) return;
      const { id } = recordOf((await create(server, "Fix")).json);
      await server.archive(id);
      const archived = recordOf((await get(server, id)).json);
      expect(archived.status).toBe("archived");
      expect(archived.archivedAt).toMatch(TIMESTAMP);
      expect(faultOf(await message(server, id, "Go on"), 400)).toMatch(/archived/i);
    });

    it("refuses a request without a key, or with one it does not know, with 401", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const paths = [
        { method: "POST", path: jobsOf(server), body: '{"prompt":"Fix"}' },
        { method: "GET", path: `${jobsOf(server)}/${id}` },
        { method: "POST", path: `${jobsOf(server)}/${id}/message`, body: '{"prompt":"Fix"}' },
      ];
      const headers = [
        null,
        "",
        "Bearer",
        "Bearer ",
        `Basic ${server.key}`,
        `Bearer ${server.key}x`,
        server.key,
      ];
      for (const sent of paths) {
        for (const authorization of headers) {
          const answer = await send(server, {
            ...sent,
            key: null,
            headers: authorization === null ? {} : { authorization },
          });
          expect(faultOf(answer, 401)).not.toBe("");
          expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
        }
      }
    });

    it("refuses the key of another project with 403", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const key = server.other.key;
      expect(
        faultOf(await send(server, { path: jobsOf(server), body: '{"prompt":"Fix"}', key }), 403),
      ).not.toBe("");
      expect(faultOf(await send(server, { path: `${jobsOf(server)}/${id}`, key }), 403)).not.toBe("");
      faultOf(
        await send(server, { path: `${jobsOf(server)}/${id}/message`, body: '{"prompt":"x"}', key }),
        403,
      );
    });

    it("does not know another project's jobs", async () => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      const { projectId, key } = server.other;
      expect(faultOf(await send(server, { path: `/v2/agent/${projectId}/job/${id}`, key }), 404)).not.toBe(
        "",
      );
      const path = `/v2/agent/${projectId}/job/${id}/message`;
      expect(faultOf(await send(server, { path, body: '{"prompt":"x"}', key }), 404)).not.toBe("");
    });

    it("answers 404 for unknown projects and jobs, whatever their names are made of", async () => {
      await using server = await start();
      const path = "/v2/agent/no-such-project/job";
      expect(faultOf(await send(server, { path, body: '{"prompt":"Fix"}' }), 404)).not.toBe("");
      for (const id of [
        "nope",
        "%00",
        "..%2f..%2fetc",
        "a'%20OR%201=1--",
        "%F0%9F%A6%8A",
        "x".repeat(2000),
      ]) {
        expect(faultOf(await get(server, id), 404)).not.toBe("");
        expect(faultOf(await message(server, id, "Go on"), 404)).not.toBe("");
      }
    });

    it.each([
      ["no JSON", "{"],
      ["nothing", ""],
      ["null", "null"],
      ["a list", "[]"],
      ["a text", '"Fix"'],
      ["no prompt", "{}"],
      ["an empty prompt", '{"prompt":""}'],
      ["a prompt that is null", '{"prompt":null}'],
      ["a prompt that is a number", '{"prompt":1}'],
      ["a prompt that is a list", '{"prompt":["Fix"]}'],
    ])("refuses a body that is %s with 400", async (_what, body) => {
      await using server = await start();
      const { id } = recordOf((await create(server, "Fix")).json);
      expect(faultOf(await send(server, { path: jobsOf(server), body }), 400)).not.toBe("");
      expect(faultOf(await send(server, { path: `${jobsOf(server)}/${id}/message`, body }), 400)).not.toBe(
        "",
      );
    });

    it("names the field that is wrong", async () => {
      await using server = await start();
      expect(faultOf(await send(server, { path: jobsOf(server), body: "{}" }), 400)).toMatch(/\bprompt\b/);
    });

    it("takes unknown fields and a charset", async () => {
      await using server = await start();
      const headers = { "content-type": "application/json; charset=utf-8" };
      const body = '{"prompt":"Fix","color":"red"}';
      expect((await send(server, { path: jobsOf(server), body, headers })).status).toBe(201);
    });

    it("refuses a body that is not JSON with 415", async () => {
      await using server = await start();
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
      ]) {
        const headers = { "content-type": type };
        expect(
          faultOf(await send(server, { path: jobsOf(server), body: '{"prompt":"Fix"}', headers }), 415),
        ).not.toBe("");
      }
    });

    it("refuses a body that is too large with 413", async () => {
      await using server = await start();
      const body = JSON.stringify({ prompt: "x".repeat(1024 * 1024) });
      expect(faultOf(await send(server, { path: jobsOf(server), body }), 413)).not.toBe("");
    });

    it("keeps apart jobs that are created at once", async () => {
      await using server = await start();
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => create(server, `Fix ${n}`)));
      const ids = answers.map(({ json }) => recordOf(json).id);
      expect(new Set(ids).size).toBe(10);
    });

    it("creates one job for requests with the same idempotency key", async () => {
      await using server = await start();
      if (!server.honorsIdempotencyKeys) return;
      const headers = { "idempotency-key": "same" };
      const answers = await Promise.all(Array.from({ length: 10 }, () => create(server, "Fix", headers)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(answers.map(({ json }) => recordOf(json).id)).size).toBe(1);
    });
  });
}
