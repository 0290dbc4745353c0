import { z } from "zod";
import { startOf } from "../../src/core/text/text.ts";
import { json } from "../base/json.ts";
import { readInside } from "./confined-files.ts";

/** Where an agent names the sources of what it wrote, in its folder for temporary files. */
export const CLAIMS_FILE = "claims.json";

const MAX_BYTES = 1024 * 1024;
/** More than that many aren't looked at. */
const MAX_CLAIMS = 200;
const MAX_QUOTE_LENGTH = 500;

const Source = z.object({
  repository: z.string(),
  path: z.string().max(1000),
  line: z.int().min(1).nullish().catch(null),
  /** Its words with single spaces between them; of a long one, the beginning. */
  quote: z.string().transform((text) => startOf(text.replace(/\s+/g, " ").trim(), MAX_QUOTE_LENGTH).trim()),
});
const Claim = z.object({
  page: z.string(),
  statement: z.string(),
  // A statement without a source counts: it is one that isn't found.
  source: Source.catch({ repository: "docs", path: "", line: null, quote: "" }),
});
/** A statement and its source, as an agent wrote them: no longer than the file. */
export type Claim = z.infer<typeof Claim>;

/**
 * What the agent that had this folder wrote to {@link CLAIMS_FILE}, without what can't be read;
 * null: there is no such file, it is too large, or it isn't a list in JSON.
 */
export async function readClaims(tmp: string): Promise<Claim[] | null> {
  const text = (await readInside(tmp, CLAIMS_FILE, MAX_BYTES))?.toString("utf8") ?? "";
  const entries = json(z.array(z.unknown())).safeParse(text.replace(/^\ufeff/, ""));
  if (!entries.success) return null;
  return entries.data.slice(0, MAX_CLAIMS).flatMap((entry) => Claim.safeParse(entry).data ?? []);
}
