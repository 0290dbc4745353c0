import type { AgentPresetName } from "../../src/service/config/agent-presets.ts";
import type { ModelKind } from "../../src/service/network/gateway/model-kinds.ts";

/** A real agent to drive: its package in the version that docs/agents.md speaks of. */
export type RealAgent = {
  preset: AgentPresetName;
  version: string;
  /** The package that does the work, where the agent's own only adapts it. */
  brings: string | null;
  /** By which kind of API it reaches the scripted model, and a model's name that it accepts. */
  kind: ModelKind;
  model: string;
  /** It loses a session that is loaded within the minute that it began in: the follow-up waits for the next one. */
  losesNewSessions?: true;
  /** What the gateway leaves out of its calls, which it does without. */
  leftOut?: readonly string[];
};

export const realAgents: readonly RealAgent[] = [
  { preset: "opencode", version: "1.18.33", brings: null, kind: "anthropic", model: "claude-sonnet-4-5" },
  {
    preset: "gemini",
    version: "0.61.0",
    brings: null,
    kind: "gemini",
    model: "gemini-2.5-pro",
    losesNewSessions: true,
  },
  {
    preset: "claude",
    version: "0.100.0",
    brings: "@anthropic-ai/claude-agent-sdk",
    kind: "anthropic",
    model: "claude-sonnet-4-5",
  },
  {
    preset: "codex",
    version: "2.6.0",
    brings: "@openai/codex",
    kind: "openai",
    model: "gpt-5.1-codex",
    leftOut: ["web_search"],
  },
  {
    preset: "copilot",
    version: "1.0.102",
    brings: null,
    kind: "openai",
    model: "gpt-5.1",
    leftOut: ["messages.__copilotMessageSource"],
  },
];
