import { readFile } from "node:fs/promises";
import { isJsonFields, jsonFields, type JsonFields } from "../../../shared/text/json-fields.ts";

const MANIFEST = new URL("../../../../manifest.yml", import.meta.url);
/** In the addresses of manifest.yml. */
const PLACEHOLDER = "YOUR-HOST";

/** How Slack reaches the app: by Socket Mode, or at the public host of an HTTP address. */
export type Reach = { kind: "socket" } | { kind: "http"; host: string };

/** The manifest of this version, filled in. */
export async function ownManifest(reach: Reach): Promise<JsonFields> {
  const { parse } = await import("yaml");
  const host = reach.kind === "http" ? reach.host : PLACEHOLDER;
  const text = (await readFile(MANIFEST, "utf8")).replaceAll(PLACEHOLDER, () => host);
  const manifest = jsonFields(parse(text));
  const settings = { ...jsonFields(manifest["settings"]), socket_mode_enabled: reach.kind === "socket" };
  const filled = { ...manifest, settings };
  return reach.kind === "http" ? filled : withoutAddresses(filled);
}

/** Slack needs no address in Socket Mode, and refuses one that nobody has filled in. */
function withoutAddresses(fields: JsonFields): JsonFields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => !(typeof value === "string" && value.includes(`//${PLACEHOLDER}/`)))
      .map(([name, value]) => [name, withoutAddressesIn(value)]),
  );
}

function withoutAddressesIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAddressesIn);
  return isJsonFields(value) ? withoutAddresses(value) : value;
}

/** The page that creates a Slack app from a manifest. Slack doesn't document its parameters. */
export function newAppLink(manifest: JsonFields): string {
  const link = new URL("https://api.slack.com/apps");
  link.searchParams.set("new_app", "1");
  link.searchParams.set("manifest_json", JSON.stringify(manifest));
  return link.href;
}
