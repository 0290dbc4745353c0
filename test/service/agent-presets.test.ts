import { expect, it } from "vitest";
import { AGENT_PRESET_NAMES, presetEnv } from "../../src/service/config/agent-presets.ts";

const anthropic = { name: "a", kind: "anthropic", url: "http://127.0.0.1:1/models/a", key: "key-a" } as const;
const openai = { name: "o", kind: "openai", url: "http://127.0.0.1:1/models/o/v1", key: "key-o" } as const;
const gemini = { name: "g", kind: "gemini", url: "http://127.0.0.1:1/models/g", key: "key-g" } as const;

it.each(AGENT_PRESET_NAMES)("leads %s to one upstream, with that one's key alone", (name) => {
  const env = presetEnv({ name, model: "some-model" }, [gemini, openai, anthropic]);
  const said = JSON.stringify(env);
  const reached = [anthropic, openai, gemini].filter(({ url }) => said.includes(url));
  expect(reached).toHaveLength(1);
  expect([anthropic, openai, gemini].filter(({ key }) => said.includes(key))).toEqual(reached);
  expect(said).toContain("some-model");
});

it.each(AGENT_PRESET_NAMES)(
  "names no model for %s where the settings name none, and no key without an upstream",
  (name) => {
    expect(JSON.stringify(presetEnv({ name, model: null }, [anthropic, openai, gemini]))).not.toContain(
      "null",
    );
    expect(JSON.stringify(presetEnv({ name, model: "some-model" }, []))).not.toContain("some-model");
  },
);

it("gives an agent no upstream of a kind that it can't speak", () => {
  expect(JSON.stringify(presetEnv({ name: "codex", model: null }, [anthropic, gemini]))).not.toContain(
    "key-",
  );
});
