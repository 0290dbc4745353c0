import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { CodeHost } from "../../world/code-host/index.ts";

/** One key for all tests of a file, because making one takes long. */
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** The App's private key in GitHub's format. */
export const APP_KEY = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
/** A line from the middle of the key. A test that finds it has found a leak. */
export const APP_KEY_LINE = APP_KEY.split("\n")[5] ?? "";

/** The permissions that the App needs. */
export const APP_PERMISSIONS = {
  metadata: "read",
  contents: "write",
  pull_requests: "write",
  checks: "read",
  statuses: "read",
};

/** Installs an App on acme/docs and returns the settings that name it. Its key is in `keyFile`. */
export function installApp(codeHost: CodeHost, keyFile: string) {
  writeFileSync(keyFile, APP_KEY, { mode: 0o600 });
  const installation = {
    id: 77,
    account: "acme",
    repositories: ["docs", "handbook"],
    permissions: { ...APP_PERMISSIONS } as Record<string, string>,
    isSuspended: false,
  };
  const app = codeHost.apps.add({
    id: 12,
    slug: "acme-docs-agent",
    publicKey,
    installations: [installation],
  });
  const settings = {
    kind: "github" as const,
    apiUrl: codeHost.apiUrl,
    owner: "acme",
    repo: "docs",
    pollSeconds: 60,
    app: { id: app.id, keyFile, installationId: installation.id },
  };
  return { installation, settings };
}
