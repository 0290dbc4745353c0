import type { AgentSettings } from "../runner-turn.ts";
import { runAcpAgent } from "./acp-agent.ts";
import type { RunAgent } from "./agent.ts";
import { runCommandAgent } from "./command-agent.ts";

/** Every kind of agent, and what runs it. */
export const agents = {
  acp: runAcpAgent,
  command: runCommandAgent,
} satisfies Record<AgentSettings["kind"], RunAgent>;
