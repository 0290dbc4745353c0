import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { attachmentKindOf } from "../../../shared/contract/attachment.ts";
import { codeOf } from "../../../shared/errors.ts";
import type { TurnAttachment } from "../runner.ts";
import { TurnFailedError } from "../../base/run-error.ts";

/**
 * An attachment that was copied for the agent. The agent can't reach `path`. `inside` is the copy,
 * as the agent sees it.
 */
export type PlacedAttachment = TurnAttachment & { inside: string };

const MAX_NAME_LENGTH = 100;

/**
 * The most bytes of each kind in a prompt. An agent sends the prompt with every call to its model:
 * images, in base64, must fit into a call, and long texts would use up its budget.
 */
const EMBEDDED_BYTES = { image: 4 * 1024 ** 2, text: 64 * 1024 };

/** The folder for attachments in a folder for temporary files. */
const FOLDER = "attachments";

/**
 * Copies attachments into an agent's folder for temporary files before the agent starts.
 * `insideTmp` is that folder as the agent sees it.
 */
export async function placeAttachments(
  attachments: readonly TurnAttachment[],
  tmp: string,
  insideTmp: string,
): Promise<PlacedAttachment[]> {
  if (attachments.length === 0) return [];
  const folder = join(tmp, FOLDER);
  await mkdir(folder, { mode: 0o700 });
  return await Promise.all(
    attachments.map(async (attachment, index) => {
      const name = `${index + 1}-${safeName(attachment.name)}`;
      await copyFile(attachment.path, join(folder, name)).catch((error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
        throw new TurnFailedError("The files that came with the request are gone. Attach them again.");
      });
      return { ...attachment, inside: join(insideTmp, FOLDER, name) };
    }),
  );
}

/** Cut from the start, because the end of a name has its extension. */
function safeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(-MAX_NAME_LENGTH);
}

/**
 * Attachments as parts of a prompt. They are embedded if the agent accepts that and they aren't too
 * large. Otherwise they are links, which any agent accepts.
 */
export async function attachmentBlocks(
  attachments: readonly PlacedAttachment[],
  { image = false, embeddedContext = false }: PromptCapabilities,
): Promise<ContentBlock[]> {
  const room = { image: image ? EMBEDDED_BYTES.image : 0, text: embeddedContext ? EMBEDDED_BYTES.text : 0 };
  const blocks: ContentBlock[] = [];
  for (const attachment of attachments) {
    const { mediaType: mimeType, bytes, path, inside } = attachment;
    const uri = pathToFileURL(inside).href;
    const kind = attachmentKindOf(mimeType);
    if (kind === "pdf" || bytes > room[kind]) {
      blocks.push({ type: "resource_link", uri, name: basename(inside), mimeType, size: bytes });
      continue;
    }
    room[kind] -= bytes;
    // Doesn't read the copy, because the agent may have replaced it with a link by now.
    const content = await readFile(path);
    blocks.push(
      kind === "image"
        ? { type: "image", data: content.toString("base64"), mimeType, uri }
        : { type: "resource", resource: { uri, mimeType, text: content.toString("utf8") } },
    );
  }
  return blocks;
}
