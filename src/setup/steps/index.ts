import type { Programs } from "../programs.ts";
import { agentStep } from "./agent-step.ts";
import { reachStep } from "./reach-step.ts";
import { repositoryStep } from "./repository-step.ts";
import { startStep } from "./start-step.ts";
import type { SetupStep } from "./step.ts";
import { tokensStep } from "./tokens-step.ts";

/** The steps in their order. Each needs those before it. */
export function setupSteps(programs: Programs): SetupStep[] {
  return [reachStep, tokensStep, repositoryStep, agentStep, startStep(programs)];
}
