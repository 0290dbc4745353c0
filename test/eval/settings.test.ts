import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readSettings } from "../../eval/settings.ts";
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
