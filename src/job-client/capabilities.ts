/** The response header by which a job service announces what it offers beyond the contract: tokens, separated by commas. */
export const CAPABILITIES_HEADER = "Docs-Agent-Capabilities";

/** Announced by a service that answers a repeated request with the same `Idempotency-Key` without running it again. */
export const IDEMPOTENCY_KEY_CAPABILITY = "idempotency-key";

/** Whether the value of {@link CAPABILITIES_HEADER} announces this capability. */
export function announces(capability: string, header: string | string[] | undefined): boolean {
  return [header ?? []]
    .flat()
    .flatMap((value) => value.split(","))
    .some((token) => token.trim().toLowerCase() === capability);
}
