import { z } from "zod";
import { boundedText } from "./wanted-text.ts";

/**
 * Limits for one prompt to a service that announces `attachments`. Bytes are counted before base64,
 * and characters are UTF-16 units.
 */
export const ATTACHMENT_LIMITS = {
  count: 5,
  bytes: 4 * 1024 ** 2,
  totalBytes: 8 * 1024 ** 2,
  nameChars: 200,
} as const;

/** The accepted media types. */
export const ATTACHMENT_TYPE =
  /^(?:image\/(?:png|jpeg|gif|webp)|text\/[a-z0-9.+-]{1,60}|application\/(?:json|yaml|pdf))$/;

const { bytes, nameChars } = ATTACHMENT_LIMITS;
const WANT_NAME = `a file name of 1 to ${nameChars} characters`;
const WANT_TYPE =
  "text/…, image/png, image/jpeg, image/gif, image/webp, application/pdf, application/json or " +
  "application/yaml";
const WANT_DATA = `a file of 1 to ${bytes} bytes in base64`;

/** A file that goes along with a prompt. `data` is base64. */
export const Attachment = z
  .object(
    {
      name: boundedText(WANT_NAME, nameChars)
        .refine((name) => name.isWellFormed(), WANT_NAME)
        .meta({ description: "The file's name, for the agent and for people.", example: "shot.png" }),
      mediaType: z.string(WANT_TYPE).regex(ATTACHMENT_TYPE, WANT_TYPE).meta({
        description: "The file has to be what this says. Text is in UTF-8.",
        example: "image/png",
      }),
      data: boundedText(WANT_DATA, 4 * Math.ceil(bytes / 3)).describe("The file in base64, with padding."),
    },
    "an object with name, mediaType and data",
  )
  .meta({ id: "Attachment" });
export type Attachment = z.infer<typeof Attachment>;

/** Groups the media types of {@link ATTACHMENT_TYPE}. */
export function attachmentKindOf(mediaType: string): "image" | "pdf" | "text" {
  if (mediaType.startsWith("image/")) return "image";
  return mediaType === "application/pdf" ? "pdf" : "text";
}

/** Magic numbers in hex. `.` matches any digit. */
const BEGINNINGS: Record<string, RegExp> = {
  "image/png": /^89504e470d0a1a0a/,
  "image/jpeg": /^ffd8ff/,
  "image/gif": /^47494638(?:37|39)61/,
  "image/webp": /^52494646.{8}57454250/,
  "application/pdf": /^255044462d/,
};
const BEGINNING_BYTES = 12;

/** Text must be UTF-8 without zero bytes. Other types must begin with their magic numbers. */
export function isOfMediaType(mediaType: string, content: Uint8Array): boolean {
  if (attachmentKindOf(mediaType) === "text") return isUtf8(content) && !content.includes(0);
  const beginning = [...content.subarray(0, BEGINNING_BYTES)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return BEGINNINGS[mediaType]?.test(beginning) ?? false;
}

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}
