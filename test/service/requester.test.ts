import { describe, expect, it } from "vitest";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";

describe("the person's own words, and who asked", () => {
  const requester = { name: "Ana", link: "https://acme.slack.com/archives/C0DOCS/p1", isPrivate: true };
  const authors = { requester: "U0ANA", quoted: ["U0BEN", null] };
  const asked = { prompt: "Fix the FAQ\n\nQuoted", words: "Fix the FAQ", requester, authors };

  it("are kept with the turn, and the runner gets the words and the authors of what is quoted, those of earlier turns as well", async () => {
    await using subject = await ServiceUnderTest.start();
    const created = await subject.ask(JOBS, { body: asked });
    const { id } = (await created.json()) as { id: string };
    (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
    await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "And this" } });
    const { input } = await subject.runner.run(2);
    expect(input).toMatchObject({ words: null, authors: null });
    expect(input.earlierTurns).toEqual([
      {
        kind: "message",
        prompt: asked.prompt,
        words: "Fix the FAQ",
        authors,
        summary: null,
        outcome: "no-changes",
      },
    ]);
    const row = subject.db.prepare("SELECT words, requester FROM turns WHERE number = 1").get();
    expect(row).toEqual({ words: "Fix the FAQ", requester: JSON.stringify(requester) });
  });

  it("belong to what an idempotency key stands for", async () => {
    await using subject = await ServiceUnderTest.start();
    const headers = { "idempotency-key": "one" };
    const statuses = [];
    for (const body of [
      asked,
      asked,
      { ...asked, words: "Fix" },
      { ...asked, requester: { ...requester, link: null } },
      { prompt: asked.prompt },
      // From an app that doesn't know them yet, and sends the request of a newer one again.
      { ...asked, authors: undefined },
    ]) {
      statuses.push((await subject.ask(JOBS, { body, headers })).status);
    }
    expect(statuses).toEqual([201, 201, 422, 422, 422, 201]);
  });

  it.each([
    ["words that are no text", { words: 1 }, "words must be a text of 1 to 8000 characters"],
    ["white space", { words: " \n" }, "words must be a text of 1 to 8000 characters"],
    ["words without end", { words: "x".repeat(8001) }, "words must be a text of 1 to 8000 characters"],
    ["half a character", { words: "\ud800" }, "words must be a text of 1 to 8000 characters"],
    ["a name for a requester", { requester: "Ana" }, "requester must be an object with name, link and"],
    ["no name", { requester: { ...requester, name: "" } }, "requester.name must be a text of 1 to 200"],
    [
      "a script",
      { requester: { ...requester, link: "javascript:alert(1)" } },
      "requester.link must be an http",
    ],
    [
      "an address without end",
      { requester: { ...requester, link: `https://example.com/${"x".repeat(2000)}` } },
      "requester.link must be an http",
    ],
    [
      "perhaps",
      { requester: { ...requester, isPrivate: "yes" } },
      "requester.isPrivate must be true or false",
    ],
    ["a list for authors", { authors: ["U0ANA"] }, "authors must be an object with requester and quoted"],
    ["no id", { authors: { ...authors, requester: "" } }, "authors.requester must be an id of 1 to 200"],
    ["no list", { authors: { requester: "U0ANA" } }, "authors.quoted must be a list of at most 1000 ids"],
    ["a number", { authors: { ...authors, quoted: [1] } }, "authors.quoted.0 must be an id of 1 to 200"],
  ])("are refused: %s", async (_, wrong, error) => {
    await using subject = await ServiceUnderTest.start();
    const answer = await subject.ask(JOBS, { body: { ...asked, ...wrong } });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(error);
  });
});
