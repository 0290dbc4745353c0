import { DocsAgentError } from "../src/shared/errors.ts";

/** What a file or folder that was named isn't, by Node's codes. */
const FILE_FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file or folder ${path}.`,
  EISDIR: (path) => `${path} is a folder, and a file is needed.`,
  ENOTDIR: (path) => `${path} is a file, and a folder is needed.`,
  EACCES: (path) => `${path} can't be read: permission denied.`,
  ELOOP: (path) => `${path} is a link to itself.`,
};

/**
 * What to tell people of an error that a command ended with. Null if it is none that what they
 * typed explains.
 */
export function errorText(error: unknown): string | null {
  if (error instanceof DocsAgentError) return error.message;
  if (!(error instanceof Error) || !("code" in error)) return null;
  const path = "path" in error && typeof error.path === "string" ? error.path : "It";
  return FILE_FAULTS[String(error.code)]?.(path) ?? null;
}
