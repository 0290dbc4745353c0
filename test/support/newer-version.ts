import { registerHooks } from "node:module";

/**
 * A module that turns the program into a newer version of itself when it is loaded with `--import`.
 * Turns and jobs have one more field, `mark`. Each accepted turn has one more task, `tag`, which
 * logs both fields and is done. With `HOLD_TAGS` it waits.
 */
const CHANGES: Record<string, readonly (readonly [string, string])[]> = {
  "app/rules/turn/turn.ts": [
    [
      `export const Turn = storedObject({`,
      `export const Turn = storedObject({ mark: z.string().default("none"),`,
    ],
    [
      `    version: 2,\n    id: request.id,`,
      `    version: 2,\n    mark: "of the turn",\n    id: request.id,`,
    ],
  ],
  "app/rules/records.ts": [
    [
      `export const JobRecord = storedObject({`,
      `export const JobRecord = storedObject({ mark: z.string().default("none"),`,
    ],
  ],
  "app/rules/decisions/turn-writes.ts": [
    [
      `      ...known,\n      version: 2,\n      id: turn.job.id,`,
      `      ...known,\n      mark: "of the job",\n      version: 2,\n      id: turn.job.id,`,
    ],
  ],
  "app/rules/decisions/accept.ts": [
    [
      `adds: [submitTask(own), `,
      `adds: [submitTask(own), { id: "tag:" + own.id, type: "tag", payload: { turnId: own.id } }, `,
    ],
  ],
  "app/tasks/index.ts": [
    [
      `  submit: { pool: "creates", handle: submit, endsTurn: "create-lost" },`,
      `  submit: { pool: "creates", handle: submit, endsTurn: "create-lost" },
  tag: {
    pool: "messages",
    handle: async ({ records, clock, logger }, task) => {
      if (process.env["HOLD_TAGS"]) return { kind: "wait", dueAt: clock.now() + 200 };
      const turn = await records.get("turn", task.payload.turnId);
      const { service, id } = turn.request.project;
      const job = await records.get("job", [service, id, turn.job.id].join(" "));
      logger.info({ request: turn.request.instructions, marks: [turn.mark, job.mark] }, "tagged");
      return { kind: "done" };
    },
  },`,
    ],
  ],
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [, file = ""] = /\/src\/(.+)$/.exec(url) ?? [];
    const changes = CHANGES[file];
    if (changes === undefined) return loaded;
    let text = Buffer.isBuffer(loaded.source) ? loaded.source.toString("utf8") : `${loaded.source as string}`;
    for (const [old, now] of changes) {
      if (!text.includes(old)) throw new Error(`src/${file} no longer has: ${old}`);
      text = text.replace(old, now);
    }
    return { ...loaded, source: text };
  },
});
