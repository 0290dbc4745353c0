import { ATTACHMENT_LIMITS } from "../core/job/attachment.ts";
import type { FileReader } from "../core/turn/shared.ts";
import { codeOrNameOf } from "../core/errors.ts";
import type { SlackDeps } from "../replies/slack-team.ts";

const WITHIN_MS = 10_000;

/**
 * Downloads files from Slack with the bot's token (scope `files:read`). The token goes only to
 * Slack's own file host, never to another host that a message names or a redirect leads to.
 */
export function createSlackFileReader({ team, logger }: Pick<SlackDeps, "team" | "logger">): FileReader {
  return {
    async read({ id, url, mediaType }) {
      if (url === null || !isOfSlack(url, team.client.slackApiUrl)) {
        logger.warn({ file: id }, "a file isn't at Slack; it is not downloaded");
        return null;
      }
      try {
        const response = await fetch(url, {
          headers: { authorization: `Bearer ${team.client.token ?? ""}` },
          redirect: "manual",
          signal: AbortSignal.timeout(WITHIN_MS),
        });
        const type = response.headers.get("content-type") ?? "";
        // Without the scope, Slack answers 200 with a sign-in page.
        const isPage = /^text\/html\b/i.test(type) && mediaType !== "text/html";
        const content = response.status === 200 && !isPage ? await readBounded(response) : null;
        if (content !== null) return content;
        await response.body?.cancel().catch(() => {});
        logger.warn({ file: id, status: response.status, is_page: isPage }, "a file could not be downloaded");
      } catch (thrown) {
        logger.warn({ file: id, error: codeOrNameOf(thrown) }, "a file could not be downloaded");
      }
      return null;
    },
  };
}

/**
 * True for Slack's file host: `files.slack.com` for `slack.com`, `files.slack-gov.com` for
 * `slack-gov.com`, or the Web API's own host.
 */
function isOfSlack(url: string, apiUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const [file, api] = [new URL(url), new URL(apiUrl)];
  if (file.username !== "" || file.password !== "") return false;
  return file.origin === api.origin || file.origin === `https://files.${api.host}`;
}

/** Returns null if the file is too large. */
async function readBounded(response: Response): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ATTACHMENT_LIMITS.bytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
