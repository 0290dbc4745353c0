import { SlackRefusal } from "../refusal.ts";
import type { TokenState } from "../entities.ts";
import type { Args } from "./args.ts";
import { agentsMethods } from "./agents.ts";
import { assistantMethods } from "./assistant.ts";
import { blocksMethods } from "./blocks.ts";
import { chatMethods } from "./chat.ts";
import { conversationsMethods } from "./conversations.ts";
import { filesMethods } from "./files.ts";
import { manifestMethods } from "./manifests.ts";
import { type Method, type MethodContext, type MethodTable, refuseWithoutScope } from "./method.ts";
import { reactionsMethods } from "./reactions.ts";
import { teamMethods } from "./team.ts";
import { viewsMethods } from "./views.ts";

const methods: MethodTable = {
  ...teamMethods,
  ...agentsMethods,
  ...assistantMethods,
  ...blocksMethods,
  ...chatMethods,
  ...conversationsMethods,
  ...filesMethods,
  ...manifestMethods,
  ...reactionsMethods,
  ...viewsMethods,
};

/** `config` is an App Configuration Token. */
export type SlackSideTokens = { bot: string; app: string | undefined; config: string | undefined };

/**
 * Returns the answer to a Web API call: the body that Slack sends with HTTP 200, including
 * refusals. It never throws a refusal.
 */
export function answerCall(
  call: { method: string; args: Args; token: string | undefined },
  context: MethodContext,
  tokens: SlackSideTokens,
): Record<string, unknown> {
  try {
    const method = Object.hasOwn(methods, call.method) ? methods[call.method] : undefined;
    if (method === undefined) throw new SlackRefusal("unknown_method", { req_method: call.method });
    authenticate(call.token, method, tokens, context.workspace.tokenState);
    refuseWithoutScope(method.scopes, context.scopes);
    return { ok: true, ...method.run(call.args, context) };
  } catch (thrown) {
    if (!(thrown instanceof SlackRefusal)) throw thrown;
    return { ok: false, error: thrown.error, ...thrown.details };
  }
}

function authenticate(
  token: string | undefined,
  method: Method,
  tokens: SlackSideTokens,
  botTokenState: TokenState,
): void {
  if (token === undefined || token === "") throw new SlackRefusal("not_authed");
  const kind = (["bot", "app", "config"] as const).find((each) => token === tokens[each]);
  if (kind === undefined) throw new SlackRefusal("invalid_auth");
  if (kind !== method.token) throw new SlackRefusal("not_allowed_token_type");
  if (kind === "bot" && botTokenState !== "active") throw new SlackRefusal(botTokenState);
}
