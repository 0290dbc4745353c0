import { ATTACHMENT_LIMITS } from "../../shared/contract/attachment.ts";
import type { FileReader } from "../rules/thread/files.ts";
import { codeOrNameOf } from "../../shared/errors.ts";
import { slackFault } from "./slack-faults.ts";
import { grants, type SlackDeps } from "./slack-team.ts";
import { lookedUpFile } from "./message/message-files.ts";

const WITHIN_MS = 10_000;

/**
 * Asks Slack for files with the bot's token (scope `files:read`). The token goes only to Slack's
 * own file host, never to another host that a message names or a redirect leads to.
 */
export function createSlackFileReader({ team, logger }: Pick<SlackDeps, "team" | "logger">): FileReader {
  return {
    async lookUp(file) {
      if (!grants(team.identity, "files:read")) return { file, isFinal: true };
      try {
        const answer = await team.client.files.info({ file: file.id, limit: 1 });
        return lookedUpFile(file, answer.file);
      } catch (thrown) {
        const { kind, error } = slackFault(thrown, "look-up-file");
        logger.warn({ file: file.id, error }, "a file could not be looked up");
        return { file, isFinal: kind === "place" || kind === "credentials" };
      }
    },

    async read({ id, url, mediaType, size }) {
      if (!grants(team.identity, "files:read")) return "never";
      if (url === null || !isOfSlack(url, team.client.slackApiUrl)) {
        logger.warn({ file: id }, "a file isn't at Slack; it is not downloaded");
        return "never";
      }
      try {
        const response = await fetch(url, {
          headers: { authorization: `Bearer ${team.client.token ?? ""}` },
          redirect: "manual",
          signal: AbortSignal.timeout(WITHIN_MS),
        });
        const type = response.headers.get("content-type") ?? "";
        // While it isn't ready, Slack answers 200 with a sign-in page.
        const isHtml = /^text\/html\b/i.test(type);
        const isPage = isHtml && mediaType !== "text/html";
        const content = response.status === 200 && !isPage ? await readBounded(response) : null;
        const isOtherPage = isHtml && typeof content === "object" && content?.length !== size && size > 0;
        if (content !== null && !isOtherPage) return content;
        await response.body?.cancel().catch(() => {});
        logger.warn(
          { file: id, status: response.status, is_page: isPage || isOtherPage },
          "a file could not be downloaded",
        );
      } catch (thrown) {
        logger.warn({ file: id, error: codeOrNameOf(thrown) }, "a file could not be downloaded");
      }
      return "later";
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

async function readBounded(response: Response): Promise<Uint8Array | "too-large"> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ATTACHMENT_LIMITS.bytes) return "too-large";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
