import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";

const FOLDER = new URL("./public/", import.meta.url);

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A file of the page, with its media type. */
export type Asset = { type: string; body: string };

/**
 * Reads the page's files once and returns them by name, so that a request can't name any other
 * file. `index.html` carries the token. Types are stripped from the code without moving lines or
 * columns.
 */
export function readAssets(token: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(FOLDER)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const text = readFileSync(new URL(name, FOLDER), "utf8");
    assets.set(name, { type, body: servedAs(name, text, token) });
  }
  return assets;
}

function servedAs(name: string, text: string, token: string): string {
  if (name === "index.html") return text.replace("{{page-token}}", token);
  return name.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
}
