import { z } from "zod";

/** What a service that announces `attachments` takes with one prompt: bytes are those before base64, characters UTF-16 units. */
export const ATTACHMENT_LIMITS = {
  count: 5,
  bytes: 4 * 1024 ** 2,
  totalBytes: 8 * 1024 ** 2,
  nameChars: 200,
} as const;

/** The media types that are taken. */
export const ATTACHMENT_TYPE =
  /^(?:image\/(?:png|jpeg|gif|webp)|text\/[a-z0-9.+-]{1,60}|application\/(?:json|yaml|pdf))$/;

/** A file that goes along with a prompt, as the wire has it: `data` is in base64. */
export const WireAttachment = z.object({ name: z.string(), mediaType: z.string(), data: z.string() });
export type WireAttachment = z.infer<typeof WireAttachment>;

/** What sort of file a media type of {@link ATTACHMENT_TYPE} stands for. */
export function attachmentKindOf(mediaType: string): "image" | "pdf" | "text" {
  if (mediaType.startsWith("image/")) return "image";
  return mediaType === "application/pdf" ? "pdf" : "text";
}
