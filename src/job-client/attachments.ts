import { z } from "zod";
import type { Attachment } from "../core/job/attachment.ts";

/** A file that goes along with a prompt, in wire format. `data` is base64. */
export const WireAttachment = z.object({
  name: z.string(),
  mediaType: z.string(),
  data: z.string(),
}) satisfies z.ZodType<Attachment>;
export type WireAttachment = z.infer<typeof WireAttachment>;
