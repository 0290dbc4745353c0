import type { ProxyConnectError } from "../../proxy.ts";
import type { ModelUpstream } from "./upstream-client.ts";

const PROXY_REFUSED: ProxyConnectError["code"] = "ERR_PROXY_CONNECT";

/** Why a call of a model came to nothing. `step` and `reason` are for people, while the turn runs and when it has failed; `advice` is for the operator. */
export type ModelTrouble = { step: string; reason: string; advice: string };

const WAITING = "Waiting for the model";

/** How a call went. `status` is null, and `code` says why, if there was no answer. */
export type CallEnding = { model: string; status: number | null; code: string | null };

/** What the end of a call says of its upstream. Null: nothing that a person could mend. */
export function troubleOf(
  { name, baseUrl, keyEnv }: Pick<ModelUpstream, "name" | "baseUrl" | "keyEnv">,
  { model, status, code }: CallEnding,
): ModelTrouble | null {
  const of = `(models: ${name})`;
  if (status === null) {
    const reason = "The model provider can't be reached.";
    const step = `The model can't be reached (${code ?? "no answer"})`;
    if (code === PROXY_REFUSED) {
      return {
        step,
        reason,
        advice: `The proxy opens no connection to ${baseUrl}. Check HTTPS_PROXY ${of}.`,
      };
    }
    return {
      step,
      reason,
      advice: `Can't reach ${baseUrl} (${code ?? "no answer"}). Check the network and baseUrl ${of}.`,
    };
  }
  if (status === 401 || status === 403) {
    return {
      step: WAITING,
      reason: "The model provider refused the service's key.",
      advice: `Set ${keyEnv} to a valid key ${of}.`,
    };
  }
  if (status === 404) {
    const shown = model.replaceAll(/[^\w./:@-]/g, "?").slice(0, 100);
    return {
      step: WAITING,
      reason: "The model provider doesn't know the model.",
      advice: `It answered 404 for ${shown}. Set agent.model to a model it has, or correct baseUrl ${of}.`,
    };
  }
  if (status === 429) {
    return {
      step: WAITING,
      reason: "The model provider takes no more calls for now.",
      advice: `It answered 429. Check the limits of ${keyEnv}'s account ${of}.`,
    };
  }
  if (status < 500) return null;
  return {
    step: WAITING,
    reason: "The model provider has a problem.",
    advice: `It answered ${status} ${of}. Check its status page.`,
  };
}
