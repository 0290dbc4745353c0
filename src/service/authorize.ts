import { HttpFault } from "./http-fault.ts";
import type { KeyCheck } from "./keys.ts";

type KnownKeys = { checkKey: KeyCheck; projects: ReadonlyMap<string, unknown> };

/** Throws an {@link HttpFault} unless an `Authorization` header carries a key of the project. */
export function authorize(deps: KnownKeys, header: string | undefined, projectId: string): void {
  const key = /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
  const allowed = key === undefined ? null : deps.checkKey(key);
  if (allowed === null) {
    const want =
      key === undefined ? "Send an admin key: Authorization: Bearer <key>" : "The admin key isn't known.";
    throw new HttpFault(401, want, { "www-authenticate": "Bearer" });
  }
  if (!deps.projects.has(projectId)) throw new HttpFault(404, "There is no such project.");
  if (allowed !== projectId) throw new HttpFault(403, "The admin key is another project's.");
}
