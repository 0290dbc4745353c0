import type { FetchFunction } from "@slack/web-api";
import type { NotifierFault } from "../core/notifier.ts";
import type { Rendered } from "./blocks.ts";
import { httpFault, networkFault, rateLimited } from "./slack-faults.ts";

/** What became of an answer through a response URL. `over`: that URL takes none any more. */
type Responded = { kind: "shown" } | { kind: "over" } | { kind: "fault"; fault: NotifierFault };

/**
 * Shows a message to one person alone through a response URL, which takes five of them within 30 minutes, also where the app
 * is not a member; `replaces`: in place of the message that it came from (docs.slack.dev/interactivity/handling-user-interaction#message_responses).
 */
export async function respondPrivately(
  responseUrl: string,
  content: Rendered,
  options: { fetch: FetchFunction; timeoutMs: number; replaces?: boolean },
): Promise<Responded> {
  if (!URL.canParse(responseUrl)) return { kind: "over" };
  try {
    const response = await options.fetch(responseUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        response_type: "ephemeral",
        replace_original: options.replaces === true,
        ...content,
      }),
      redirect: "error",
      signal: AbortSignal.timeout(options.timeoutMs),
    });
    // Read to its end, so that the connection is free again.
    await response.text();
    if (response.ok) return { kind: "shown" };
    if (response.status === 429) {
      const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
      return { kind: "fault", fault: rateLimited(seconds * 1000) };
    }
    const fault = httpFault(response.status);
    return fault.kind === "not-sent" ? { kind: "over" } : { kind: "fault", fault };
  } catch (thrown) {
    return {
      kind: "fault",
      fault: networkFault(thrown instanceof Error ? thrown : new Error(String(thrown))),
    };
  }
}
