import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readProjectSettings } from "../../eval/project-options.ts";
import { readSettings, shareFrom } from "../../eval/settings.ts";
import { openTempDir } from "../support/temp-dir.ts";

const MODELS = fileURLToPath(new URL("../../eval/models.yml", import.meta.url));
const ENV = { ANTHROPIC_API_KEY: "key", PATH: "/bin", AWS_SECRET_ACCESS_KEY: "not for the service" };
const OPTIONS = { preset: "claude", models: MODELS, maxUsd: "20", runs: "1", atOnce: "4" };

it("takes the agent's own kind of model, its key alone, and three shares of the budget for a run", () => {
  const { models, env, budget } = readSettings(OPTIONS, 30, ENV);
  expect(models).toMatchObject([{ kind: "anthropic", keyEnv: "ANTHROPIC_API_KEY" }]);
  expect(env).toEqual({ ANTHROPIC_API_KEY: "key", PATH: "/bin" });
  expect(budget).toEqual({ usd: 2 });
  expect(readSettings(OPTIONS, 1, ENV).budget).toEqual({ usd: 20 });
});

it("says what is wrong with an option, and what it takes", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("empty.yml"), "models: []\n");
  await writeFile(dir.file("other.yml"), "models: [{ name: a, kind: gemini, keyEnv: A }]\n");
  const cases: [changes: object, message: RegExp][] = [
    [{ preset: "clude" }, /--preset takes one of opencode, /],
    [{ maxUsd: undefined }, /Give --max-usd or --max-tokens/],
    [{ maxTokens: "100" }, /Give --max-usd or --max-tokens/],
    [{ maxUsd: "-1" }, /--max-usd takes a number above 0, not -1\./],
    [{ maxUsd: "lots" }, /--max-usd takes a number above 0, not lots\./],
    [{ runs: "1.5" }, /--runs takes a whole number above 0, not 1\.5\./],
    [{ atOnce: "" }, /--at-once takes a whole number above 0/],
    [{ models: dir.file("none.yml") }, /There is no file .*none\.yml\. --models names one\./],
    [{ models: dir.file("empty.yml") }, /empty\.yml: /],
    [{ models: dir.file("other.yml") }, /has no model for claude: one of kind anthropic\./],
    [{ preset: "gemini" }, /Set GEMINI_API_KEY to the key for the models of gemini\./],
  ];
  for (const [changes, message] of cases) {
    expect(() => readSettings({ ...OPTIONS, ...changes }, 30, ENV)).toThrow(message);
  }
});

it("takes what a project's settings would say, and a share below which it fails", async () => {
  await using dir = await openTempDir();
  await writeFile(dir.file("brief.md"), "# A brief\n");
  await writeFile(dir.file("told.md"), "Say Acme.\n");
  await writeFile(dir.file("checks.yml"), "[{ name: own, command: [sh, check.sh] }]\n");
  await writeFile(dir.file("one.yml"), "name: own\n");
  const given = { brief: dir.file("brief.md"), instructions: dir.file("told.md"), styleGuide: "A.md, B.md" };
  expect(readProjectSettings({ ...given, verify: "links,markdownlint", ask: true })).toEqual({
    briefFile: dir.file("brief.md"),
    instructions: "Say Acme.\n",
    styleGuide: ["A.md", "B.md"],
    verify: ["links", "markdownlint"],
    asks: true,
  });
  const own = { name: "own", command: ["sh", "check.sh"] };
  expect(readProjectSettings({ verify: dir.file("checks.yml") })).toMatchObject({
    verify: [own],
    asks: false,
  });
  expect(() => readProjectSettings({ verify: dir.file("one.yml") })).toThrow(/isn't a list of checks/);
  expect(() => readProjectSettings({ brief: dir.file("none.md") })).toThrow(/no file .*none\.md for --brief/);
  expect(shareFrom("--fail-below", "0.8")).toBe(0.8);
  for (const text of ["80", "", "-1", "most"])
    expect(() => shareFrom("--fail-below", text)).toThrow(/--fail-below takes a number from 0 to 1/);
});
