import { z } from "zod";
import { startOf } from "../../../../shared/text/text.ts";
import { json } from "../../../base/json.ts";
import { DOCS_NAME } from "../../claims-file.ts";

/** Further ones are ignored. */
const MAX_CLAIMS = 200;
/** A quote of this length may be cut, in the middle of a word. */
export const MAX_QUOTE_LENGTH = 1000;

const Source = z.object({
  repository: z.string(),
  /** The request has none. */
  path: z.string().max(2000).default(""),
  line: z.int().min(1).nullish().catch(null),
  /** If it is long, only the beginning. */
  quote: z.string().transform((text) => startOf(text.trim(), MAX_QUOTE_LENGTH)),
});
const Claim = z.object({
  /** What only an answer says is on none. */
  page: z.string().default(""),
  statement: z.string(),
  // A statement without a source counts as one whose source isn't found.
  source: Source.catch({ repository: DOCS_NAME, path: "", line: null, quote: "" }),
  /** True if the source has a value in another form, such as another unit. */
  converted: z.boolean().catch(false),
});
/** A statement and its source, as an agent wrote them. The file's size limits their length. */
export type Claim = z.infer<typeof Claim>;

/** The entries of a claims file, without unreadable parts. Null if it isn't a JSON list. */
export function parseClaims(content: Buffer): Claim[] | null {
  const entries = json(z.array(z.unknown())).safeParse(content.toString("utf8").replace(/^\ufeff/, ""));
  if (!entries.success) return null;
  return entries.data.slice(0, MAX_CLAIMS).flatMap((entry) => Claim.safeParse(entry).data ?? []);
}
