import { describe, expect, it } from "vitest";
import { above, FIX, REQUESTER, said, SETTINGS } from "../../support/pull-request-texts.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

describe("the text", () => {
  it("says what was wrong and what changed page by page, and folds what was asked", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const agent = inlineAgent(
      FIX +
        `fs.writeFileSync("docs/new.md", "# New\\n"); fs.rmSync("docs/quickstart.md");` +
        said(
          "I have corrected the product's name in `<Intro>`.",
          "",
          "The readme said Teh.",
          "",
          "- `README.md`: the name @team",
          "- docs/new.md — a page of its own",
          "- It closes #3",
        ),
    );
    await world.run(world.project(agent));
    const [pull] = world.pulls();
    expect(pull?.title).toBe("Correct the product's name in `<Intro>`");
    const text = above(pull?.body);
    expect(text).toContain("The readme said Teh.\n\n- It closes #\u200b3");
    expect(text).toContain(
      "- `README.md` (+1 −1): the name @\u200bteam\n- `docs/new.md` (new, +1): a page of its own\n" +
        "- `docs/quickstart.md` (removed)",
    );
    expect(text).not.toMatch(/job1|Correct the product's name|Fix the typo/);
    expect(pull?.body).toMatch(
      /<summary>What was asked<\/summary>\n\n> Fix the typo\n\n<\/details>\n\n<!-- docs-agent:title \w{16} -->\n\n<!-- docs-agent:job job1 -->/,
    );
  });

  it("covers all turns of the change, and none that failed", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    await world.run(
      world.project(
        inlineAgent(FIX + said("Correct the name", "", "- README.md: the name", "", "Please check it.")),
      ),
    );
    const page = (name: string, title: string) =>
      world.project(
        inlineAgent(`fs.writeFileSync("docs/${name}.md", "x");${said(title, "", "Please check it.")}`),
      );
    const first = {
      prompt: "Fix the typo",
      summary: "Correct the name\n\n- README.md: the name\n\nPlease check it.",
    };
    const failed = { prompt: "Break it", summary: "Broke everything", outcome: "failed" as const };
    await world.run(page("a", "Added page A."), { prompt: "Now A", earlierTurns: [first, failed] });
    const [pull] = world.pulls();
    expect(pull?.title).toBe("Correct the name; add page A");
    expect(above(pull?.body)).toContain("- `README.md` (+1 −1): the name\n- `docs/a.md` (new, +1)");
    expect(above(pull?.body).split("Please check it.")).toHaveLength(2);
    expect(pull?.body).not.toContain("Broke everything");
    expect(pull?.body).toContain(
      "Asked first:\n\n> Fix the typo\n\nThen (failed):\n\n> Break it\n\nThen:\n\n> Now A\n\n</details>",
    );

    await world.asPerson("PATCH", "1", { title: "Our own title" });
    const second = { prompt: "Now A", summary: "Added page A." };
    await world.run(page("b", "Added B"), { prompt: "Now B", earlierTurns: [first, failed, second] });
    expect(world.pulls()[0]?.title).toBe("Our own title");
  });

  it("says nothing of a page that a follow-up puts back as it was", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const first = "Fix both\n\n- README.md: the name\n- docs/quickstart.md: Instal";
    const quickstart = `fs.writeFileSync("docs/quickstart.md", "# Quickstart\\n\\nInstall it.\\n");`;
    await world.run(world.project(inlineAgent(FIX + quickstart + said(first))));
    const back = `fs.writeFileSync("docs/quickstart.md", "# Quickstart\\n\\nInstal it.\\n");`;
    await world.run(world.project(inlineAgent(back + said("Leave the quickstart alone"))), {
      prompt: "Leave the quickstart alone",
      earlierTurns: [{ prompt: "Fix both", summary: first }],
    });
    const text = above(world.pulls()[0]?.body);
    expect(text).toContain("- `README.md` (+1 −1): the name");
    expect(text).not.toContain("quickstart.md");
  });

  it("has 1,500 characters above the fold at most, and all of it below", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const agent = inlineAgent(`
      for (let n = 0; n < 60; n++) fs.writeFileSync("docs/a-page-with-a-rather-long-name-" + n + ".md", "x");
      fs.writeFileSync("src/index.js", "x");
      console.log("Add pages\\n\\n" + "What was wrong takes a while to tell. ".repeat(40));
    `);
    await world.run(world.project(agent));
    const body = world.pulls()[0]?.body ?? "";
    expect(above(body).length).toBeLessThanOrEqual(1500 + "<!-- docs-agent:start -->".length + 4);
    expect(above(body)).toMatch(/- … and \d+ more pages?/);
    expect(body).toContain("<summary>More about the change</summary>");
    expect(body).toContain("a-page-with-a-rather-long-name-59.md");
  });

  it("names who asked where the repository is private, and where a setting says so", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const agent = inlineAgent(FIX);
    const credit = "Requested by Ana @\u200bops in [this thread](<https://acme.slack.com/archives/C1/p1>).";
    const bodyWith = async (jobId: string, requester: "auto" | "always" | "never") => {
      const project = world.project(agent, { pullRequests: { ...SETTINGS, requester } });
      await world.run(project, { jobId, requester: REQUESTER });
      return world.pulls().at(-1)?.body ?? "";
    };
    expect(await bodyWith("public", "auto")).not.toMatch(/Requested by|slack\.com/);
    expect(await bodyWith("always", "always")).toContain(credit);
    world.codeHost.rules.privateRepositories.add("acme/docs");
    expect(await bodyWith("private", "auto")).toContain(credit);
    expect(await bodyWith("never", "never")).not.toMatch(/Requested by|slack\.com/);
  });

  it.each([
    ["says nothing of it", { kind: "http", status: 200, body: "{}" }],
    ["contradicts itself", { kind: "http", status: 200, body: '{"private":true,"visibility":"public"}' }],
    ["breaks", { kind: "http", status: 500 }],
    ["doesn't answer", { kind: "drop-before" }],
  ] as const)(
    "names nobody where the code host, asked whether it's public, %s",
    { tags: "all" },
    async (_what, fault) => {
      await using world = await openRunnerWorld(LOGIC_ONLY);
      const headers = { "content-type": "application/json" };
      world.api.fault = (request) =>
        request.endsWith("/repos/acme/docs") ? { headers, ...fault } : undefined;
      const result = await world.run(world.project(inlineAgent(FIX)), { requester: REQUESTER });
      expect(result.kind).toBe("pull-request");
      expect(world.pulls()[0]?.body).not.toMatch(/Requested by|slack\.com/);
    },
  );

  it("fills in the repository's template and keeps its headings, and what people wrote there", async () => {
    const comment = "<!--\n## What to describe\n\nAnything\n-->\n\n";
    const template = `${comment}## Description\n\n<!-- Say why -->\n\n## Testing\n\n## Checklist\n\n- [ ] I read it\n`;
    const files = { ...START_FILES, ".github/Pull_Request_Template.md": template };
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
    await world.run(world.project(inlineAgent(FIX + said("Fix it", "", "Why it was wrong."))));
    const body = world.pulls()[0]?.body ?? "";
    expect(body.startsWith(comment)).toBe(true);
    const order = ["## Description", "Why it was wrong.", "<!-- Say why -->", "## Testing", "## Checklist"];
    const found = order.map((part) => body.indexOf(part));
    expect(found).toEqual(found.toSorted((one, other) => one - other));
    expect(found).not.toContain(-1);
    await world.asPerson("PATCH", "1", { body: body.replace("- [ ]", "- [x]") });
    await world.run(world.project(inlineAgent(`fs.writeFileSync("docs/b.md", "x");`)), {
      prompt: "More",
      earlierTurns: [{ prompt: "Fix the typo", summary: "Fix it" }],
    });
    expect(world.pulls()[0]?.body).toContain("- [x] I read it");
    expect(world.pulls()[0]?.body).toContain("`docs/b.md` (new, +1)");
  });

  it("leaves a text alone that has no room for more, and says so", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    await world.run(world.project(inlineAgent(FIX)));
    const theirs = (world.pulls()[0]?.body ?? "").padStart(65_536, "Our own words. ");
    await world.asPerson("PATCH", "1", { body: theirs });
    const more = inlineAgent(`fs.writeFileSync("docs/b.md", "x");${said("Add B", "", "It was missing.")}`);
    const earlierTurns = [{ prompt: "Fix the typo", summary: null }];
    expect(await world.run(world.project(more), { prompt: "More", earlierTurns })).toMatchObject({
      kind: "pull-request",
      notes: [expect.stringContaining("too long")],
    });
    expect(world.pulls()[0]?.body).toBe(theirs);
  });

  it.each([
    [
      "our own marks alone",
      { "docs/pull_request_template.md": "<!-- docs-agent:start -->\n<!--docs-agent:end-->" },
    ],
    ["too large", { "docs/pull_request_template.md": "x".repeat(5_000_000) }],
    ["empty", { ".github/pull_request_template.md": "\n" }],
  ])("goes without a template that is %s", { tags: "all" }, async (_what, file) => {
    await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: { ...START_FILES, ...file } });
    await world.run(world.project(inlineAgent(FIX)));
    expect(world.pulls()[0]?.body).toMatch(/^<!-- docs-agent:start -->/);
  });
});
