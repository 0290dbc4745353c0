import { z } from "zod";
import { cut, startOf } from "../../../src/core/text/text.ts";
import { OutsideTreeError, openInside } from "../confined-files.ts";

/** Where an agent names the sources of what it wrote, in its folder for temporary files. */
export const CLAIMS_FILE = "claims.json";

const MAX_BYTES = 1024 * 1024;
/** More than that many entries aren't looked at. */
const MAX_ENTRIES = 1000;
const MAX_CLAIMS = 200;
const MAX_QUOTE_LENGTH = 500;

const Source = z.object({
  repository: z.string().max(100),
  path: z.string().max(1000),
  line: z.int().min(1).nullish().catch(null),
  /** Its words with single spaces between them; of a long one, the beginning. */
  quote: z.string().transform((text) => startOf(text.replace(/\s+/g, " ").trim(), MAX_QUOTE_LENGTH).trim()),
});
const Claim = z.object({
  page: z.string().transform((text) => cut(text, 500)),
  statement: z.string().transform((text) => cut(text, 1000)),
  // A statement without a source counts: it is one that isn't found.
  source: Source.catch({ repository: "docs", path: "", line: null, quote: "" }),
});
/** A statement and its source, as an agent wrote them: bounded, and nothing more. */
export type Claim = z.infer<typeof Claim>;

/**
 * What the agent that had this folder wrote to {@link CLAIMS_FILE}, without what can't be read;
 * null: there is no such file, it is too large, or it isn't a list in JSON.
 */
export async function readClaims(tmp: string): Promise<Claim[] | null> {
  const text = await readBounded(tmp);
  if (text === null) return null;
  const entries = z.array(z.unknown()).safeParse(parseJson(text));
  if (!entries.success) return null;
  const claims = entries.data.slice(0, MAX_ENTRIES).flatMap((entry): Claim[] => {
    const claim = Claim.safeParse(entry);
    return claim.success ? [claim.data] : [];
  });
  return claims.slice(0, MAX_CLAIMS);
}

async function readBounded(folder: string): Promise<string | null> {
  try {
    const { file, stats } = await openInside(folder, CLAIMS_FILE);
    await using _ = file;
    if (stats.size === 0 || stats.size > MAX_BYTES) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.toString("utf8", 0, bytesRead).replace(/^\ufeff/, "");
  } catch (error) {
    if (error instanceof OutsideTreeError) return null;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
