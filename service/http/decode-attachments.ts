import { setImmediate as nextTurn } from "node:timers/promises";
import { ATTACHMENT_LIMITS, attachmentKindOf, isOfMediaType } from "../../src/core/job/attachment.ts";
import type { WireAttachment } from "../../src/job-client/attachments.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import type { NewAttachment } from "../jobs/attachment-files.ts";

const { bytes: MAX_BYTES, totalBytes: MAX_TOTAL_BYTES } = ATTACHMENT_LIMITS;

/**
 * The files themselves. Rejects with an {@link HttpFault} if one is too large, or not what its
 * media type says.
 */
export async function decodeAttachments(wire: readonly WireAttachment[]): Promise<NewAttachment[]> {
  const decoded: NewAttachment[] = [];
  for (const [index, { name, mediaType, data }] of wire.entries()) {
    // Others get their turn before each of them.
    await nextTurn();
    const content = Buffer.from(data, "base64");
    const want = wantOf(mediaType, data, content);
    if (want !== null) throw new HttpFault(400, mustBe(`attachments.${index}.data`, want));
    decoded.push({ name, mediaType, content });
  }
  const bytes = decoded.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes > MAX_TOTAL_BYTES) {
    throw new HttpFault(400, mustBe("attachments", `at most ${MAX_TOTAL_BYTES} bytes, all of them together`));
  }
  return decoded;
}

/** What should be there instead; null: it is right. */
function wantOf(mediaType: string, data: string, content: Buffer): string | null {
  if (content.length !== decodedBytes(data)) return "base64, with padding and without white space";
  if (content.length === 0 || content.length > MAX_BYTES) return `a file of 1 to ${MAX_BYTES} bytes`;
  if (isOfMediaType(mediaType, content)) return null;
  return attachmentKindOf(mediaType) === "text"
    ? "text in UTF-8, without zero bytes"
    : `a file of the type ${mediaType}`;
}

/** How much a base64 text stands for; what is no base64 decodes to less. */
function decodedBytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return (data.length / 4) * 3 - padding;
}
