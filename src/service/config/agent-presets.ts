import type { ModelKind } from "../network/gateway/model-kinds.ts";
import type { ModelAccess } from "../network/egress/turn-network.ts";

/** Settings that were tried with one agent. See docs/agents.md. */
export type AgentPreset = {
  /** The program and its arguments for the Agent Client Protocol over standard input and output. */
  command: readonly [string, ...string[]];
  /**
   * Further arguments, for an agent that only reads and writes in folders that it is told about.
   */
  folderArgs?: (folders: readonly string[]) => string[];
  /** The npm package that contains the program. */
  npmPackage: string;
  /** The kinds of model upstreams that it works with, its own first. */
  modelKinds: readonly ModelKind[];
  /**
   * Turns off what only disturbs here: updates, telemetry, questions, and a sandbox inside ours.
   */
  env: Readonly<Record<string, string>>;
  /**
   * The variables that point it to its model. The upstream's kind is one of `modelKinds`. If
   * `model` is null, the agent chooses.
   */
  modelEnv: (upstream: ModelAccess, model: string | null) => Record<string, string>;
};

export const AGENT_PRESETS = {
  opencode: {
    command: ["opencode", "acp"],
    npmPackage: "opencode-ai",
    modelKinds: ["anthropic", "openai", "gemini"],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_SHARE: "1",
    },
    modelEnv: (upstream, model) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(upstream, model)),
    }),
  },
  gemini: {
    command: ["gemini", "--acp"],
    folderArgs: (folders) => ["--include-directories", folders.join(",")],
    npmPackage: "@google/gemini-cli",
    modelKinds: ["gemini"],
    env: {
      // Otherwise it restarts itself to get more memory.
      GEMINI_CLI_NO_RELAUNCH: "true",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_TELEMETRY_ENABLED: "false",
    },
    modelEnv: ({ url, key }, model) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      ...(model === null ? {} : { GEMINI_MODEL: model }),
    }),
  },
  claude: {
    command: ["claude-agent-acp"],
    npmPackage: "@agentclientprotocol/claude-agent-acp",
    modelKinds: ["anthropic"],
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", NO_BROWSER: "1" },
    modelEnv: ({ url, key }, model) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      // Claude uses a small model for titles and the like, which the upstream may not have.
      ...(model === null ? {} : { ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: model }),
    }),
  },
  codex: {
    command: ["codex-acp"],
    npmPackage: "@agentclientprotocol/codex-acp",
    modelKinds: ["openai"],
    env: {
      // Its own sandbox can't be created inside ours.
      INITIAL_AGENT_MODE: "agent-full-access",
      NO_BROWSER: "1",
    },
    modelEnv: (upstream, model) => ({
      OPENAI_API_KEY: upstream.key,
      MODEL_PROVIDER: CODEX_PROVIDER,
      CODEX_CONFIG: JSON.stringify(codexConfig(upstream, model)),
    }),
  },
  copilot: {
    command: ["copilot", "--acp"],
    npmPackage: "@github/copilot",
    modelKinds: ["anthropic", "openai"],
    env: { COPILOT_AUTO_UPDATE: "false", COPILOT_OFFLINE: "true" },
    modelEnv: ({ kind, url, key }, model) => ({
      COPILOT_PROVIDER_TYPE: kind,
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: key,
      ...(model === null ? {} : { COPILOT_MODEL: model }),
    }),
  },
} as const satisfies Record<string, AgentPreset>;

export type AgentPresetName = keyof typeof AGENT_PRESETS;

/** The presets' names, in the order of the docs. */
export const AGENT_PRESET_NAMES = Object.keys(AGENT_PRESETS).filter(isAgentPreset);

export function isAgentPreset(name: string): name is AgentPresetName {
  return Object.hasOwn(AGENT_PRESETS, name);
}

/** The preset that the settings chose. */
export type ChosenPreset = { name: AgentPresetName; model: string | null };

type AcpSettings = {
  kind: string;
  preset?: AgentPresetName | undefined;
  model?: string | undefined;
  permissions?: string;
};

/** The preset that an agent's settings choose, or null. */
export function presetOf({ preset: name, model }: AcpSettings): ChosenPreset | null {
  return name === undefined ? null : { name, model: model ?? null };
}

/** True if an agent may ask a person about what the policy doesn't allow, and its own questions. */
export function mayAsk({ permissions }: AcpSettings): boolean {
  return permissions === "ask";
}

/** The arguments to add to the preset's command, for folders that exist. */
export function presetArgs({ name }: ChosenPreset, folders: readonly string[]): string[] {
  const preset: AgentPreset = AGENT_PRESETS[name];
  return preset.folderArgs?.(folders) ?? [];
}

/**
 * The variables that a preset needs. They point to the first upstream that it works with. If there
 * is none, it gets no model.
 */
export function presetEnv(
  { name, model }: ChosenPreset,
  upstreams: readonly ModelAccess[],
): Record<string, string> {
  const preset: AgentPreset = AGENT_PRESETS[name];
  const upstream = preset.modelKinds
    .flatMap((kind) => upstreams.filter((candidate) => candidate.kind === kind))
    .at(0);
  return { ...preset.env, ...(upstream === undefined ? {} : preset.modelEnv(upstream, model)) };
}

const CODEX_PROVIDER = "docs-agent";
const OPENCODE_PROVIDERS = { anthropic: "anthropic", openai: "openai", gemini: "google" } as const;

/** Opencode's SDKs expect a base URL that ends with the version. */
function opencodeConfig({ kind, url, key }: ModelAccess, model: string | null) {
  const provider = OPENCODE_PROVIDERS[kind];
  const baseURL = { anthropic: `${url}/v1`, openai: url, gemini: `${url}/v1beta` }[kind];
  const chosen = model === null ? null : `${provider}/${model}`;
  return {
    $schema: "https://opencode.ai/config.json",
    enabled_providers: [provider],
    provider: {
      [provider]: {
        options: { baseURL, apiKey: key },
        ...(model === null ? {} : { models: { [model]: {} } }),
      },
    },
    ...(chosen === null ? {} : { model: chosen, small_model: chosen }),
  };
}

function codexConfig({ url }: ModelAccess, model: string | null) {
  return {
    model_provider: CODEX_PROVIDER,
    model_providers: {
      [CODEX_PROVIDER]: {
        name: "Docs Agent",
        base_url: url,
        env_key: "OPENAI_API_KEY",
        wire_api: "responses",
        requires_openai_auth: false,
      },
    },
    analytics: { enabled: false },
    check_for_update_on_startup: false,
    ...(model === null ? {} : { model }),
  };
}
