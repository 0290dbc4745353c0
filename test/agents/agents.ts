import type { AgentPresetName } from "../../src/service/config/agent-presets.ts";
import type { ModelKind } from "../../src/service/network/gateway/model-kinds.ts";

/** A real agent to test: its package, in the version that docs/agents.md names. */
export type RealAgent = {
  preset: AgentPresetName;
  version: string;
  /** The package that does the work, if the agent's own only adapts it. */
  brings: string | null;
  /**
   * The kind of API for calls to the scripted model, and the name of a model that the agent
   * accepts.
   */
  kind: ModelKind;
  model: string;
  /**
   * The agent loses a session that is loaded in the same minute in which it began. So the follow-up
   * waits for the next minute.
   */
  losesNewSessions?: true;
  /** Fields of the agent's calls that the gateway leaves out. The agent works without them. */
  leftOut?: readonly string[];
};

/** The real agents that are tested. */
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
