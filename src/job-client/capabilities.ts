import { Capability } from "../core/ports/job-service.ts";

/**
 * The header by which a job service announces, with every answer, what it offers beyond the
 * contract, and by which a client says which of it it reads: tokens, separated by commas. A record
 * carries `turns` and `questions` only for a client that names them.
 */
export const CAPABILITIES_HEADER = "Docs-Agent-Capabilities";

/**
 * The capabilities that a value of {@link CAPABILITIES_HEADER} names, in our order. Others are left
 * out.
 */
export function parseCapabilities(header: string | readonly string[] | null | undefined): Capability[] {
  const tokens = [header ?? []].flat().flatMap((value) => value.split(","));
  const named = new Set(tokens.map((token) => token.trim().toLowerCase()));
  return Capability.options.filter((capability) => named.has(capability));
}

/** A value of {@link CAPABILITIES_HEADER}. */
export function formatCapabilities(capabilities: readonly Capability[]): string {
  return capabilities.join(", ");
}
