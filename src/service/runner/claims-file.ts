import { readInside } from "./workspace/confined-files.ts";

/** The file in its folder for temporary files where an agent names the sources of what it wrote. */
export const CLAIMS_FILE = "claims.json";

/** The name of the project's own repository in it. */
export const DOCS_NAME = "docs";

/** The name of the request in it, with the messages that came with it. */
export const REQUEST_NAME = "request";

const MAX_BYTES = 1024 * 1024;

/** What the agent wrote to {@link CLAIMS_FILE} in this folder. Null if nothing, or too much. */
export function readClaimsFile(tmp: string): Promise<Buffer | null> {
  return readInside(tmp, CLAIMS_FILE, MAX_BYTES);
}
