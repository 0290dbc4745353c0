import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { attachmentKindOf } from "../../../core/attachment.ts";
import type { PlacedAttachment } from "../place-attachments.ts";

/**
 * How many bytes of each kind are in a prompt at most. An agent's calls to its model carry the prompt each time: in base64, images have
 * to fit into a call, and long texts would use up its budget.
 */
const EMBEDDED_BYTES = { image: 4 * 1024 ** 2, text: 64 * 1024 };

/** Attachments as parts of a prompt: themselves where the agent takes that and they are not too large, otherwise links, which any agent takes. */
export async function attachmentBlocks(
  attachments: readonly PlacedAttachment[],
  { image = false, embeddedContext = false }: PromptCapabilities,
): Promise<ContentBlock[]> {
  const room = {
    image: image ? EMBEDDED_BYTES.image : 0,
    text: embeddedContext ? EMBEDDED_BYTES.text : 0,
  };
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
    // Not the copy: by now the agent may have put a link to something else in its place.
    const content = await readFile(path);
    blocks.push(
      kind === "image"
        ? { type: "image", data: content.toString("base64"), mimeType, uri }
        : { type: "resource", resource: { uri, mimeType, text: content.toString("utf8") } },
    );
  }
  return blocks;
}
