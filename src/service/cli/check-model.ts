import { StartError } from "../../shared/errors.ts";
import { AGENT_PRESETS, presetOf } from "../config/agent-presets.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, networkOf } from "../config/env.ts";
import { type ModelAccess, openTurnNetwork } from "../network/egress/turn-network.ts";

const LISTS = { anthropic: "/v1/models", openai: "/models", gemini: "/v1beta/models" };

/**
 * Checks which models the agent may use. With `calls`, it also sends each a small request through
 * the gateway, as the agent would.
 */
export async function checkModel(
  project: ServiceProject,
  { calls, env, signal }: { calls: boolean; env: Env; signal: AbortSignal },
): Promise<string> {
  const models = usableModels(project);
  if (models.length === 0) return project.agentEnv.length > 0 ? `by ${project.agentEnv.join(", ")}` : "none";
  const names = models.map(({ name }) => name).join(", ");
  if (!calls) return `${names}. Not called: add --call-model to test it`;
  await using network = await openTurnNetwork({
    ...networkOf({ ...project, models, budget: {} }, env),
    socketPath: null,
    logger: { info() {}, warn() {}, error() {} },
  });
  for (const [index, access] of network.models(network.port ?? 0).entries()) {
    const { path, body } = smallRequest(project, access, index === 0);
    const answer = await fetch(`${access.url}${path}`, {
      method: body === null ? "GET" : "POST",
      headers: { "x-api-key": access.key },
      body: body === null ? null : JSON.stringify(body),
      signal,
    });
    const text = await answer.text();
    if (answer.ok) continue;
    const trouble = network.modelTrouble();
    const said = trouble === null ? text.slice(0, 500) : `${trouble.reason} ${trouble.advice}`;
    throw new StartError(`${access.name} answered ${answer.status}: ${said}`);
  }
  return `${names}, called`;
}

/**
 * If it is known which model the agent uses, a call with one token of output. Otherwise a request
 * for the list of models.
 */
function smallRequest({ agent }: ServiceProject, { kind }: ModelAccess, isFirst: boolean) {
  const preset = presetOf(agent);
  const model = isFirst ? preset?.model : null;
  if (model === null || model === undefined) return { path: LISTS[kind], body: null };
  const messages = [{ role: "user", content: "Say OK." }];
  if (kind === "anthropic") return { path: "/v1/messages", body: { model, max_tokens: 1, messages } };
  if (kind === "gemini") {
    const contents = [{ role: "user", parts: [{ text: "Say OK." }] }];
    const path = `/v1beta/models/${model}:generateContent`;
    return { path, body: { contents, generationConfig: { maxOutputTokens: 1 } } };
  }
  // Of these agents, only Copilot uses the older API.
  if (preset?.name === "copilot") return { path: "/chat/completions", body: { model, messages } };
  return { path: "/responses", body: { model, input: "Say OK.", max_output_tokens: 16 } };
}

function usableModels({ agent, models, agentEnv }: ServiceProject): ServiceProject["models"] {
  const preset = presetOf(agent);
  if (preset === null) return models;
  const kinds: readonly string[] = AGENT_PRESETS[preset.name].modelKinds;
  const fitting = kinds.flatMap((kind) => models.filter((model) => model.kind === kind));
  // An operator who gives the agent its own key doesn't need ours.
  if (fitting.length > 0 || agentEnv.length > 0) return fitting;
  throw new StartError(
    `The agent has no model. Add one of kind ${kinds.join(" or ")} under models, with the name of ` +
      "the variable that holds its key.",
  );
}
