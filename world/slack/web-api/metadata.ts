import * as z from "zod";
import type { Metadata } from "../messages.ts";
import { SlackRefusal } from "../refusal.ts";

/** Slack documents that there is a limit, but not which one. */
const MAX_BYTES = 8 * 1024;

const Scalar = z.union([z.string(), z.number(), z.boolean()]);

/** Flat payloads only. Slack's types allow others, but this project doesn't use them. */
const MetadataSchema = z.strictObject({
  event_type: z.string().min(1).max(255),
  event_payload: z.record(z.string(), z.union([Scalar, z.array(Scalar)])),
});

/** Parses the metadata of a message. Throws the refusal that Slack would give. */
export function parseMetadata(value: unknown): Metadata {
  const parsed = MetadataSchema.safeParse(value);
  if (!parsed.success) throw new SlackRefusal("invalid_metadata_format");
  if (Buffer.byteLength(JSON.stringify(parsed.data)) > MAX_BYTES)
    throw new SlackRefusal("metadata_too_large");
  return parsed.data;
}
