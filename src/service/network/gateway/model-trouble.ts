import type { ProxyConnectError } from "../../../shared/machine/proxy.ts";
import { DocsAgentError } from "../../../shared/errors.ts";

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  415: "invalid_request_error",
  426: "invalid_request_error",
  429: "rate_limit_error",
};

/**
 * A model call that was refused. The message is for whoever reads the agent's output, and contains
 * no secret.
 */
export class ModelCallFault extends DocsAgentError {
  readonly code = "model_call";
  /** The HTTP status. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }

  /** The kind of fault, in the providers' terms. */
  get type(): string {
    return TYPES[this.status] ?? "api_error";
  }
}

export const UPGRADE_REQUIRED = 426;

/** The answer to a refused call, in a form that the SDKs of all kinds show to people. */
export function faultAnswer({ status, type, message }: ModelCallFault) {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    // Repeating a refused call doesn't help. The SDKs of OpenAI and Anthropic read this header
    // before they retry.
    ...(status < 500 ? { "x-should-retry": "false" } : {}),
    // The answer must name the protocol that is wanted instead (RFC 9110, 15.5.22).
    ...(status === UPGRADE_REQUIRED
      ? { upgrade: "HTTP/1.1", connection: "close, upgrade" }
      : { connection: "close" }),
  };
  return { status, headers, body: JSON.stringify({ type: "error", error: { type, message } }) };
}

const PROXY_REFUSED: ProxyConnectError["code"] = "ERR_PROXY_CONNECT";

/**
 * Why a model call failed. `step` and `reason` are for people, while the turn runs and after it has
 * failed. `advice` is for the operator.
 */
export type ModelTrouble = { step: string; reason: string; advice: string };

/**
 * What the end of a call shows to be wrong with its upstream. Null if it is nothing that a person
 * could fix. If there was no answer, `status` is null, and `code` says why.
 */
export function troubleOf(
  { name, baseUrl, keyEnv }: { name: string; baseUrl: string; keyEnv: string },
  { model, status, code }: { model: string; status: number | null; code: string | null },
): ModelTrouble | null {
  const of = `(models: ${name})`;
  const told = (reason: string, advice: string, step = "Waiting for the model") => ({ step, reason, advice });
  if (status === null) {
    const why = code ?? "no answer";
    const advice =
      code === PROXY_REFUSED
        ? `The proxy opens no connection to ${baseUrl}. Check HTTPS_PROXY ${of}.`
        : `Can't reach ${baseUrl} (${why}). Check the network and baseUrl ${of}.`;
    return told("The model provider can't be reached.", advice, `The model can't be reached (${why})`);
  }
  if (status === 401 || status === 403) {
    return told("The model provider refused the service's key.", `Set ${keyEnv} to a valid key ${of}.`);
  }
  if (status === 404) {
    const advice =
      `It answered 404 for ${shownModel(model)}. Set agent.model to a model it has, or correct ` +
      `baseUrl ${of}.`;
    return told("The model provider doesn't know the model.", advice);
  }
  if (status === 429) {
    const advice = `It answered 429. Check the limits of ${keyEnv}'s account ${of}.`;
    return told("The model provider takes no more calls for now.", advice);
  }
  if (status < 500) return null;
  return told("The model provider has a problem.", `It answered ${status} ${of}. Check its status page.`);
}

/** Makes a model's name fit for people. An agent may have made it up. */
export function shownModel(model: string): string {
  return model.replaceAll(/[^\w./:@-]/g, "?").slice(0, 100);
}
