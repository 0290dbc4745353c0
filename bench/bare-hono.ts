import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { serve } from "@hono/node-server";
import { Hono } from "hono";

/**
 * A Hono server that gives the job service's answers and does next to nothing for them: a create is
 * one synced insert, and a GET does nothing at all. Its argument is the path of its database.
 */
const db = new DatabaseSync(process.argv[2] ?? "");
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
db.exec("CREATE TABLE jobs (id TEXT PRIMARY KEY, prompt TEXT)");
const insert = db.prepare("INSERT INTO jobs VALUES (?, ?)");

const app = new Hono();
app.post("/v2/agent/:projectId/job", async (context) => {
  const { prompt } = await context.req.json<{ prompt: string }>();
  const id = `job-${randomBytes(10).toString("hex")}`;
  insert.run(id, prompt);
  return context.json(recordOf(id), 201);
});
app.get("/v2/agent/:projectId/job/:id", (context) => context.json(recordOf(context.req.param("id"))));

function recordOf(id: string) {
  return {
    id,
    status: "active",
    source: { repository: "docs.git", ref: "main" },
    model: "sleep",
    prLink: null,
    createdAt: "2026-01-05T09:00:00Z",
    archivedAt: null,
  };
}

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => {
  process.stdout.write(`${JSON.stringify({ msg: "ready", address: `http://127.0.0.1:${port}` })}\n`);
});
