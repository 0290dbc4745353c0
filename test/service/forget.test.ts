import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunTurnResult } from "../../src/service/runner/runner.ts";
import { acceptTurnRequest } from "../../src/service/jobs/acceptance.ts";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { Tables } from "../../src/service/jobs/tables.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { transaction } from "../../src/shared/store/sqlite/sqlite-database.ts";
import { readState } from "../support/read-state.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceFolder } from "../support/service-process.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";

type Who = { id: string | null; name: string; quoted?: string[] };

async function ask(subject: ServiceUnderTest, prompt: string, { id, name, quoted = [] }: Who, of = JOBS) {
  const attachments = [{ name: "aardvark.txt", mediaType: "text/plain", data: btoa("aardvark") }];
  const body = {
    prompt: `${prompt} ${quoted.length === 0 ? "" : "They wrote: the aardvark is wrong"}`,
    words: prompt,
    requester: { name, link: "https://acme.slack.com/archives/C0DOCS/p1", isPrivate: false },
    ...(id !== null && { authors: { requester: id, quoted } }),
    ...(name === "Ana Aardvark" && { attachments }),
  };
  const answer = await subject.ask(of, { body });
  expect([200, 201]).toContain(answer.status);
  return ((await answer.json()) as { id: string }).id;
}

/** Ends a job's newest turn, which has left notes and an agent's session. */
async function end(subject: ServiceUnderTest, jobId: string, nth = 1, said = "aardvark"): Promise<void> {
  const run = await subject.runner.runOf(jobId, nth);
  const { prompt } = run.input;
  run.input.report({ brief: `Do this: ${prompt} ${said}`, lines: [prompt] });
  if (said === "aardvark") leave(subject.dir.path, jobId);
  run.end(resultWith(jobId, `Said ${said}`));
  await expect.poll(() => subject.store.turn({ jobId, number: nth })?.state).toBe("ended");
}

function resultWith(jobId: string, summary: string): RunTurnResult {
  const prLink = `https://git.example/acme/docs/pull/${Number.parseInt(jobId.slice(-4), 16) + 1}`;
  const size = { files: null, additions: null, deletions: null };
  const head = { headRef: "docs-agent/job", headSha: "c".repeat(40) };
  const pullRequest = { url: prLink, number: 1, title: "Fix", state: "open" as const, ...size, ...head };
  return { kind: "pull-request", prLink, pullRequest, summary, leftOut: [], notes: [] };
}

function leave(dataDir: string, jobId: string): void {
  mkdirSync(join(dataDir, "turns"), { recursive: true });
  writeFileSync(join(dataDir, "turns", `${jobId}.json`), `{"requester":"Ana Aardvark"}`);
  const home = join(dataDir, "sessions", jobId, "home");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "log"), "aardvark");
}

/** The files below a folder that have this text in them. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).toString("latin1").toLowerCase().includes(text));
}

const ANA: Who = { id: "U0ANA", name: "Ana Aardvark" };
const BEN: Who = { id: "U0BEN", name: "Ben" };

it("removes a person's words, names and files, tells what stays elsewhere, and keeps the numbers", async () => {
  await using subject = await ServiceUnderTest.start();
  const theirs = await ask(subject, "fix the aardvark page", ANA);
  await end(subject, theirs);
  const quoting = await ask(subject, "correct this", { ...BEN, quoted: ["U0ANA"] });
  await end(subject, quoting);
  const others = await ask(subject, "fix the install page", BEN);
  await end(subject, others, 1, "nothing");
  // Ben's follow-up was told what Ana had asked before.
  await ask(subject, "the FAQ, too", BEN, `${JOBS}/${theirs}/message`);
  const forget = (user: string) => subject.service.doCommand({ name: "forget", user });

  expect(await forget("U0ANA")).toMatchObject({ isRefused: true });
  expect((await forget("U0ANA")).text).toMatch(/^A turn of U0ANA, .* waits or runs\. /);
  expect(filesWith(subject.dir.path, "aardvark page").length).toBeGreaterThan(0);
  await end(subject, theirs, 2);

  const pages = [theirs, quoting].map((id) => `  ${subject.store.job(id)?.prLink}`).toSorted();
  const { text, isRefused } = await forget("U0ANA");
  expect(isRefused).toBe(false);
  expect(text.split("\n").slice(0, 3)).toEqual([
    "Forgot what U0ANA asked in 1 turn, and what they wrote in 1 turn of others: words, names and files.",
    expect.stringMatching(/^2 jobs, now archived: job-\w+, job-\w+$/),
    "Numbers stay: outcomes, tokens, cost, and a hash in place of the person's id.",
  ]);
  expect(text).toMatch(/\n- In Slack: .*\n- In the Slack app's store: /);
  expect(text).toContain(
    `- At the code host: texts, comments and commits that may name them.\n${pages.join("\n")}\n`,
  );

  // Nothing of it is anywhere, not even in what was overwritten.
  const found = ["aardvark", "u0ana"].flatMap((word) => filesWith(subject.dir.path, word));
  expect(found).toEqual([]);
  expect(JSON.stringify(subject.logger.lines)).not.toMatch(/aardvark|U0ANA/i);
  // What Ben typed is his, and his other job is as it was.
  expect(subject.store.turn({ jobId: quoting, number: 1 })).toMatchObject({
    words: "correct this",
    requester: { name: "Ben" },
    authors: { requester: "U0BEN", quoted: [expect.stringMatching(/^forgotten-\w{32}$/)] },
  });
  expect(subject.store.turn({ jobId: others, number: 1 })).toMatchObject({
    prompt: "fix the install page ",
    summary: "Said nothing",
  });
  expect(subject.store.job(theirs)?.status).toBe("archived");
  expect(subject.store.job(others)?.status).toBe("completed");
  const by = { name: "usage", sinceMs: 0, by: "person", project: null, format: "csv" } as const;
  expect(subject.service.runCommand(by).text).toMatch(/\r\nforgotten-\w{32},,1,1,/);
  // It can be asked for again, as the report may have been lost.
  expect((await forget("U0ANA")).text).toBe(text);
  expect(await forget("U0NOBODY")).toMatchObject({ isRefused: true, text: "Nothing is stored of U0NOBODY." });
});

it("finds requests without an id by their name", { tags: "all" }, async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await ask(subject, "fix the aardvark page", { id: null, name: "Ana Aardvark" });
  await end(subject, id);
  const forget = () => subject.service.doCommand({ name: "forget", user: "Ana Aardvark" });
  expect((await forget()).text).toContain("asked in 1 turn: words");
  expect(filesWith(subject.dir.path, "aardvark")).toEqual([]);
  expect((await forget()).isRefused).toBe(true);
});

it.for(["before", "after"])(
  "killed %s any commit, it is done by the next run",
  { tags: "all", timeout: 240_000 },
  async (phase) => {
    let commit = 1;
    for (; commit < 30; commit += 1) {
      await using folder = await ServiceFolder.open({ docs: ["true"] });
      const dataDir = folder.dir.file("data");
      const jobId = await withState({ dataDir }, createSystemClock(), (db) => {
        const project = makeServiceProject();
        const request = { project, kind: "message", prompt: "the aardvark page", words: "aardvark" } as const;
        const who = {
          requester: { name: "Ana Aardvark", link: null, isPrivate: false },
          authors: { requester: "U0ANA", quoted: [] },
        };
        const rest = { jobId: null, attachments: [], idempotencyKey: null };
        const made = transaction(db, () =>
          acceptTurnRequest(new Tables(db), { ...request, ...who, ...rest }, 1),
        );
        const key = made.kind === "accepted" ? made.turn : { jobId: "", number: 1 };
        new JobStore(db).end(key, { kind: "no-changes", summary: "aardvark" }, 2);
        return key.jobId;
      });
      leave(dataDir, jobId ?? "");
      const hasDied = await folder.runAndDie(`${phase}:${commit}`, "forget", "U0ANA");
      if (hasDied) {
        const { code, stdout } = await folder.run("forget", "U0ANA");
        expect({ code, stdout }).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(/^Forgot /) as string,
        });
      }
      for (const word of ["aardvark", "u0ana"]) expect(filesWith(dataDir, word)).toEqual([]);
      expect(existsSync(join(dataDir, "sessions", jobId ?? "", "home"))).toBe(false);
      const turn = readState({ dataDir }, (db) => new JobStore(db).turn({ jobId: jobId ?? "", number: 1 }));
      expect(turn).toMatchObject({ prompt: "(forgotten)", words: null, requester: null, summary: null });
      if (!hasDied) break;
    }
    // The start's own commits, the jobs that are closed, and what is forgotten.
    expect(commit).toBeGreaterThan(3);
    expect(commit).toBeLessThan(30);
  },
);
