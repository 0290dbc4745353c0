import { AGENT_PRESET_NAMES, AGENT_PRESETS, isAgentPreset } from "../../service/config/agent-presets.ts";
import { envValue } from "../../service/config/env.ts";
import type { ModelKind } from "../../service/network/gateway/model-kinds.ts";
import { modelKeyEnv, serviceSettings, trySettings } from "../service-settings.ts";
import { entryFault, passOn, type SetupStep } from "./step.ts";

const PARTS = ["sandbox", "user", "agent", "model"];
/** How the keys of each provider begin. OpenAI's begin like Anthropic's. */
const KEYS: readonly (readonly [start: RegExp, kind: ModelKind])[] = [
  [/^sk-ant-/, "anthropic"],
  [/^AIza/, "gemini"],
  [/^sk-/, "openai"],
];
const NAMES: Readonly<Record<ModelKind, string>> = {
  anthropic: "Anthropic",
  openai: "OpenAI",
  gemini: "Gemini",
};

/** The coding agent, and the key of its model. */
export const agentStep: SetupStep = {
  id: "agent",
  title: "Agent and model",
  button: "Try the agent and the model",
  isDone: ({ state }) => state.agent !== undefined,
  words: async () => [
    {
      text:
        "A coding agent does the work, in a sandbox on this machine. It never sees the key: a gateway " +
        "of ours calls the model, once now with a few tokens.",
      link: { label: "Keys of Anthropic", url: "https://console.anthropic.com/settings/keys" },
    },
    { text: "Install an agent first, such as: npm install -g opencode-ai" },
  ],
  fields: ({ state: { agent } }) => [
    {
      name: "preset",
      label: "Agent",
      kind: "choice",
      choices: AGENT_PRESET_NAMES.map((name) => ({ value: name, label: name })),
      initial: agent?.preset ?? "opencode",
    },
    {
      name: "kind",
      label: "Model provider",
      kind: "choice",
      choices: [
        { value: "", label: "By how the key begins" },
        ...Object.entries(NAMES).map(([value, label]) => ({ value, label })),
      ],
      initial: agent?.kind ?? "",
    },
    {
      name: "key",
      label: "Model key",
      kind: "secret",
      ...(agent !== undefined && { isOptional: true, hint: "One is kept. Leave this empty to use it." }),
    },
  ],
  async *take(values, session) {
    const { repository } = session.state;
    const preset = values["preset"] ?? "";
    if (!isAgentPreset(preset))
      return yield entryFault("Agent", "There is no such agent.", "Choose another.");
    const kinds: readonly ModelKind[] = AGENT_PRESETS[preset].modelKinds;
    const entered = values["key"] ?? "";
    const kind = kindOf(values["kind"] ?? "", entered, kinds);
    if (kind === null || !kinds.includes(kind)) {
      const todo = `Choose ${kinds.map((each) => NAMES[each]).join(" or ")}, and enter its key.`;
      return yield entryFault(
        "Model provider",
        `${preset} can't use this provider, or it isn't known.`,
        todo,
      );
    }
    const key = entered || envValue(session.env(), modelKeyEnv(kind)) || "";
    if (key === "") return yield entryFault("Model key", "There is none.", `Enter a key of ${NAMES[kind]}.`);
    if (repository === undefined) {
      return yield entryFault("Docs repository", "There is none yet.", "Go back to that step.");
    }
    const env = session.env({ [modelKeyEnv(kind)]: key });
    const settings = serviceSettings({ repository, agent: { preset, kind } }, session, 0);
    if (!(yield* passOn(trySettings(settings, { env, session, callModel: true, parts: PARTS })))) return;
    session.keepVariables({ [modelKeyEnv(kind)]: key });
    session.keep({ agent: { preset, kind } });
  },
};

/** The chosen provider, else the one whose keys begin like that, else the agent's only one. */
function kindOf(chosen: string, key: string, kinds: readonly ModelKind[]): ModelKind | null {
  const named = kinds.find((kind) => kind === chosen);
  if (chosen !== "") return named ?? null;
  return KEYS.find(([start]) => start.test(key))?.[1] ?? (kinds.length === 1 ? (kinds[0] ?? null) : null);
}
