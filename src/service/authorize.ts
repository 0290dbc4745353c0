import { HttpFault } from "./http-fault.ts";
import type { KeyCheck } from "./keys.ts";

type KnownKeys = { checkKey: KeyCheck; projects: ReadonlyMap<string, unknown> };

/** The key that an `Authorization` header carries; null: none. */
export function bearerKey(header: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1] ?? null;
}

/** The project that the key of an `Authorization` header is for; null: none. */
export function keysProject(
  { checkKey }: Pick<KnownKeys, "checkKey">,
  header: string | undefined,
): string | null {
  const key = bearerKey(header);
  return key === null ? null : checkKey(key);
}

/** Throws an {@link HttpFault} unless an `Authorization` header carries a key of the project. */
export function authorize(deps: KnownKeys, header: string | undefined, projectId: string): void {
  const allowed = keysProject(deps, header);
  if (allowed === null) {
    const want =
      bearerKey(header) === null
        ? "Send an admin key: Authorization: Bearer <key>"
        : "The admin key isn't known.";
    throw new HttpFault(401, want, { "www-authenticate": "Bearer" });
  }
  if (!deps.projects.has(projectId)) throw new HttpFault(404, "There is no such project.");
  if (allowed !== projectId) throw new HttpFault(403, "The admin key is another project's.");
}
