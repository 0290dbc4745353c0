import { Capability } from "../core/ports/job-service.ts";

/**
 * The header in which a job service announces, with every answer, what it offers beyond the
 * contract, and in which a client says which of that it reads. Its value is a list of tokens
 * separated by commas. A record carries `turns` and `questions` only for a client that names them.
 */
export const CAPABILITIES_HEADER = "Docs-Agent-Capabilities";

/** The known capabilities in a value of {@link CAPABILITIES_HEADER}, in our order. */
export function parseCapabilities(header: string | readonly string[] | null | undefined): Capability[] {
  const tokens = [header ?? []].flat().flatMap((value) => value.split(","));
  const named = new Set(tokens.map((token) => token.trim().toLowerCase()));
  return Capability.options.filter((capability) => named.has(capability));
}

/** Writes a value of {@link CAPABILITIES_HEADER}. */
export function formatCapabilities(capabilities: readonly Capability[]): string {
  return capabilities.join(", ");
}
