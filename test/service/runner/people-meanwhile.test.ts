import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import type { RunTurnResult } from "../../../src/service/runner/runner.ts";
import { atNight } from "../../support/nightly.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { type Act, ACTS, EXPECTED, type Time, TIMES, type Turn, TURNS } from "./people-meanwhile.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const BRANCH = "docs-agent/job1";
const PAGES = ["one", "two", "three"];
const THEIR_WORDS = "I wrote this myself.";

const ALL = TURNS.flatMap((turn) =>
  TIMES.flatMap((time) => ACTS.map((act): [Turn, Time, Act] => [turn, time, act])),
);
// Each act once, and each time with both turns.
const FEW: typeof ALL = ACTS.map((act, at): [Turn, Time, Act] => {
  const [turn, time] = [TURNS[(at + Math.floor(at / 4)) % 2], TIMES[at % 4]];
  if (turn === undefined || time === undefined) throw new Error("There is no such turn or time");
  return [turn, time, act];
});
FEW.push(
  ["a first turn", "between the pull request and its answer", "changes the base to v1"],
  ["a follow-up", "while the turn waits in line", "closes"],
  ["a follow-up", "right before the push", "merges by squash"],
);

/** Whether `npm test` tries it. The rest is for `npm run test:all`. */
const isFirst: (each: (typeof ALL)[number]) => boolean = ([, , act]) =>
  act === "pushes a commit" || act === "merges by squash";

it.each(atNight(ALL, FEW).filter((each) => isFirst(each)))("%s, %s: a person %s", losesNothing);
it.each(atNight(ALL, FEW).filter((each) => !isFirst(each)))(
  "%s, %s: a person %s",
  { tags: "all" },
  losesNothing,
);

async function losesNothing(turn: Turn, time: Time, act: Act): Promise<void> {
  // Only what comes between a turn's own steps needs git over HTTP, where it can be stopped.
  const isBetween = time === "right before the push" || time === "between the push and the pull request";
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, ...(isBetween && { remote: "http" }) });
  const person = await createPerson(world);
  const isFollowUp = turn === "a follow-up";
  let turns = 0;
  let result: RunTurnResult | null = null;
  let link: number | null = null;

  async function run(when: Time | null): Promise<void> {
    const number = (turns += 1);
    const page = PAGES[number - 1] ?? "";
    const start = world.dir.file(`start${number}`);
    const command = `cat > /dev/null; while [ ! -e '${start}' ]; do sleep 0.02; done; echo '${page}' > docs/${page}.md; echo 'Add ${page}'`;
    const acts = () => (when === null ? Promise.resolve() : person.does(act));
    if (when === "right before the push") onceBefore(world, "push", acts);
    if (when === "between the pull request and its answer") onceUnanswered(world, acts);
    const acceptedAt = Date.now();
    if (when === "while the turn waits in line") await acts();
    if (when === "between the push and the pull request") onceBefore(world, "pull request", acts);
    const begin = async () => {
      try {
        if (when === "while the agent works") await acts();
      } finally {
        await writeFile(start, "");
      }
    };
    let begun: Promise<void> | undefined;
    const input = {
      prompt: `Add ${page}`,
      earlierTurns: PAGES.slice(0, number - 1).map((each) => ({
        prompt: `Add ${each}`,
        summary: `Add ${each}`,
      })),
      // The service has seen by then what a person did after the turn before.
      closedSeenAt: when === null ? acceptedAt : null,
      acceptedAt,
      onLine: (line: string) => {
        if (line !== "the agent is working") return;
        begun ??= begin();
        // It is awaited below.
        begun.catch(() => {});
      },
    };
    result = await untilDone(world, ["sh", "-c", command], input);
    await begun;
    if (result.kind === "pull-request") link = result.pullRequest?.number ?? null;
  }

  if (isFollowUp) await run(null);
  if (time !== "after the turn") await run(time);
  else {
    await run(null);
    await person.does(act);
    await run(null);
  }
  expect(person.hasActed()).toBe(true);
  expect(await seen(world, person, { result, link })).toBe(EXPECTED[turn][time][act]);
  await person.expectNothingLost();
  if (act.startsWith("merges")) await person.expectOnlyNews();
}

/** As the service does after a fault that passes. */
async function untilDone(
  world: World,
  command: string[],
  input: Parameters<World["run"]>[1],
): Promise<RunTurnResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await world.run(world.project(command), input);
    } catch (error) {
      if (!(error instanceof TransientRunError) || attempt === 3) throw error;
    }
  }
}

/** Right before git begins to push, or right before the first call to the API after that. */
function onceBefore(world: World, what: "push" | "pull request", act: () => Promise<void>): void {
  let isPushed = false;
  world.gitHttp.before = async (request) => {
    if (what === "push" && request.includes("service=git-receive-pack")) {
      world.gitHttp.before = undefined;
      await act();
    }
    isPushed ||= request.startsWith("POST") && request.endsWith("git-receive-pack");
  };
  world.api.before = async () => {
    if (what === "push" || !isPushed) return;
    world.api.before = undefined;
    await act();
  };
}

/** Once the API has taken what a turn says of its pull request, and has lost the answer. */
function onceUnanswered(world: World, act: () => Promise<void>): void {
  let isLost = false;
  world.api.fault = (request) => {
    if (isLost || !/^(?:POST|PATCH) .*\/pulls/.test(request)) return undefined;
    isLost = true;
    return { kind: "drop-after" };
  };
  world.api.before = async () => {
    if (!isLost) return;
    world.api.before = undefined;
    await act();
  };
}

async function seen(
  world: World,
  person: Awaited<ReturnType<typeof createPerson>>,
  { result, link }: { result: RunTurnResult | null; link: number | null },
): Promise<string> {
  const pulls = world.pulls().map(({ number, state, mergedAt, base, title, body }) => {
    const ours = /<!-- docs-agent:start -->([^]*?)<details>/.exec(body ?? "")?.[1] ?? "";
    const pages = [...ours.matchAll(/docs\/(\w+)\.md/g)].map(([, page = ""]) => page).toSorted();
    const into = base === "main" ? "" : ` into ${base}`;
    return `#${number} ${mergedAt === null ? state : "merged"}${into} "${title}" (${pages.join(" ")})`;
  });
  const ended = `${result?.kind} ${link === null ? "-" : `#${link}`}`;
  const branch = `branch ${await person.pagesOf(BRANCH)}`;
  return [ended, branch, `main ${await person.pagesOf("main")}`, ...pulls].join("; ");
}

/** Somebody who works on the repository, and what they had left there. */
async function createPerson(world: World) {
  const host = world.codeHost.repository("acme", "docs");
  const commits: string[] = [];
  const opened: number[] = [];
  let hasActed = false;
  await world.inBare("update-ref", "refs/heads/v1", "refs/heads/main");

  const sha = (ref: string) => world.inBare("rev-parse", ref);
  const hasBranch = async () => (await world.branches()).includes(BRANCH);
  const openPull = () => world.pulls().find(({ state, base }) => state === "open" && base === "main");

  async function commit(branch: string, page: string): Promise<void> {
    commits.push(await world.commitTo(branch, { [`docs/${page}.md`]: `${page}\n` }, `Write ${page}`));
  }
  async function open(base: string): Promise<number> {
    const made = await host.create({
      title: "Theirs",
      body: THEIR_WORDS,
      head: BRANCH,
      base,
      isDraft: false,
    });
    if (!made.ok) throw new Error(`The code host refused: ${made.refusal.kind}`);
    opened.push(made.value.number);
    return made.value.number;
  }
  const change = (number: number, what: object) => world.asPerson("PATCH", String(number), what);
  const merge = (number: number, method: string) =>
    world.asPerson("PUT", `${number}/merge`, { merge_method: method });

  /** Moves the branch, as somebody may who forces a push. */
  async function move(to: string): Promise<void> {
    await world.inBare("update-ref", `refs/heads/${BRANCH}`, to);
  }
  async function rebase(): Promise<void> {
    const from = await sha(`main`);
    await commit("main", "later");
    const onto = await sha("main");
    const rebased = await host.repository.rebase({ base: onto, head: await sha(BRANCH), mergeBase: from });
    if (rebased === null) throw new Error("The branch can't be rebased");
    const replaced = commits.findIndex((each) => each !== onto);
    if (replaced >= 0) commits.splice(replaced, 1);
    await move(rebased);
  }

  return {
    hasActed: () => hasActed,
    async does(act: Act): Promise<void> {
      hasActed = true;
      // A code host takes in what we pushed before anybody can see it.
      await host.followBranches();
      if (!(await hasBranch())) {
        await world.inBare("update-ref", `refs/heads/${BRANCH}`, "refs/heads/main");
        await commit(BRANCH, "theirs");
      } else if (act === "pushes a commit") await commit(BRANCH, "theirs");
      const theirs = async () => openPull()?.number ?? (await open("main"));
      switch (act) {
        case "pushes a commit":
          break;
        case "opens another pull request into the base, and closes ours": {
          const ours = openPull();
          if (ours !== undefined) await change(ours.number, { state: "closed" });
          await open("main");
          break;
        }
        case "opens another pull request into v1":
          await open("v1");
          break;
        case "rebases":
          await rebase();
          break;
        case "merges by merge commit":
          await merge(await theirs(), "merge");
          break;
        case "merges by squash":
          await merge(await theirs(), "squash");
          break;
        case "merges by rebase":
          await merge(await theirs(), "rebase");
          break;
        case "closes":
          await change(await theirs(), { state: "closed" });
          break;
        case "closes and reopens": {
          const number = await theirs();
          await change(number, { state: "closed" });
          await change(number, { state: "open" });
          break;
        }
        case "changes the base to v1":
          await change(await theirs(), { base: "v1" });
          break;
        case "deletes the branch":
          await world.inBare("update-ref", "-d", `refs/heads/${BRANCH}`);
          commits.length = 0;
          break;
        case "force-pushes something else":
          commits.length = 0;
          await move("refs/heads/main");
          await commit(BRANCH, "theirs");
      }
      await host.followBranches();
    },
    async pagesOf(branch: string): Promise<string> {
      if (!(await world.branches()).includes(branch)) return "none";
      const names = await world.inBare("ls-tree", "-r", "--name-only", `refs/heads/${branch}`);
      const pages = [...PAGES, "theirs", "later"].filter((page) => names.includes(`docs/${page}.md`));
      return pages.length === 0 ? "-" : pages.toSorted().join(" ");
    },
    /** What is open shows nothing again that was merged: its diff has the pages that its text names. */
    async expectOnlyNews(): Promise<void> {
      for (const { base, body, head } of world.pulls().filter(({ state }) => state === "open")) {
        const changed = await world.changed(head, base);
        expect(changed.filter((page) => !body?.includes(page))).toEqual([]);
      }
    },
    /** Their commits are still there, and their words, to which something may have been added. */
    async expectNothingLost(): Promise<void> {
      for (const each of commits) {
        expect(await world.inBare("for-each-ref", "--contains", each)).not.toBe("");
      }
      for (const { number, base, title, body } of world.pulls()) {
        if (!opened.includes(number)) continue;
        expect(title).toBe("Theirs");
        if (base === "v1") expect(body).toBe(THEIR_WORDS);
        else expect(body?.startsWith(THEIR_WORDS)).toBe(true);
      }
    },
  };
}
