// @module-tag nightly
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { readiness } from "../support/app-process.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const DAY_MS = 86_400_000;
/** In every word that somebody writes here, and in nothing that the app makes itself. */
const WRITTEN = "zanzibar";

/** Which of the store's files hold something that people wrote. */
function filesWith(world: World, text: string): string[] {
  return ["", "-wal", "-shm", "-owner"].filter((suffix) => {
    const path = `${world.storePath}${suffix}`;
    return existsSync(path) && readFileSync(path).includes(text);
  });
}

it("after RETENTION_DAYS, nothing of what people wrote is left anywhere in the store", async () => {
  await using world = await World.start({ env: { RETENTION_DAYS: "10", JOB_DEADLINE_MS: String(DAY_MS) } });
  const { slack, service } = world;
  const ana = slack.person(ANA);

  // An outcome each: a pull request, a refusal, a failure tried again, an unknown one, and a deadline.
  service.script.completeAfterPolls(1, { prLink: PR });
  await ana.command({ channel: DOCS, text: `fix ${WRITTEN} one` });
  await world.pass(60_000);
  service.faults.add({
    op: "create",
    times: 1,
    fault: { kind: "status", status: 400, body: { error: `${WRITTEN} is too vague` } },
  });
  await ana.command({ channel: DOCS, text: `fix ${WRITTEN} two` });
  await world.pass(60_000);
  service.faults.add({ op: "create", times: 1, fault: { kind: "drop-after" } });
  await ana.mention({ channel: DOCS, text: `fix ${WRITTEN} three` });
  await world.pass(60_000);
  service.script.reset();
  await ana.command({ channel: DOCS, text: `fix ${WRITTEN} four` });
  await world.pass(60_000);

  // A form that is never sent, on a message, and one that is.
  const message = slack.workspace.say({ channel: DOCS, user: BEN, text: `the ${WRITTEN} page is wrong` });
  const shortcut = { callbackId: "fix_these_docs", channel: DOCS, messageTs: message.ts };
  await ana.shortcut(shortcut);
  await ana.submit({
    viewId: (await world.form(ANA)).id,
    values: { instructions: { instructions: `${WRITTEN}, please` } },
  });
  await ana.shortcut(shortcut);
  await world.form(ANA);
  // Refused, with the name of a project that somebody made up.
  await ana.mention({ channel: DOCS, text: `project=${WRITTEN} fix it` });
  await world.pass(60_000);

  // A task that is given up, its notice that never arrives, and a record that is set aside.
  await ana.command({ channel: DOCS, text: `fix ${WRITTEN} five` });
  await ana.command({ channel: DOCS, text: `fix ${WRITTEN} six` });
  await world.pass(10_000);
  slack.faults.add({
    method: "conversations.open",
    times: Number.POSITIVE_INFINITY,
    fault: { kind: "error", error: "user_disabled" },
  });
  slack.faults.add({
    method: "chat.postEphemeral",
    times: Number.POSITIVE_INFINITY,
    fault: { kind: "error", error: "user_not_in_channel" },
  });
  await world.stopApp();
  const db = new DatabaseSync(world.storePath);
  db.prepare(
    "UPDATE kv SET value = replace(value, '\"version\":2', '\"version\":99') WHERE value LIKE ?",
  ).run(`%${WRITTEN} five%`);
  db.prepare("UPDATE kv SET value = replace(value, '{\"value\"', '{{value') WHERE value LIKE ?").run(
    `%${WRITTEN} six%`,
  );
  db.close();
  await world.startApp();
  await world.pass(DAY_MS);
  expect((await readiness(world.appUrl)).tasks.dead).toBeGreaterThan(0);
  expect(filesWith(world, WRITTEN)).toContain("");

  // The last of them ended at its deadline, a day after it was asked for; the form is older.
  await world.pass(11 * DAY_MS);
  expect((await readiness(world.appUrl)).tasks).toEqual({ waiting: 0, running: 0, dead: 0 });
  expect(filesWith(world, WRITTEN)).toEqual([]);
  expect(filesWith(world, "/response/")).toEqual([]);
  await world.stopApp();
  expect(filesWith(world, WRITTEN)).toEqual([]);
  const rest = new DatabaseSync(world.storePath, { readOnly: true });
  const kinds = rest.prepare("SELECT DISTINCT substr(key, 1, instr(key, ':')) AS kind FROM kv").all();
  rest.close();
  expect(kinds.map(({ kind }) => kind).filter((kind) => kind !== "probe:" && kind !== "service:")).toEqual(
    [],
  );
});
