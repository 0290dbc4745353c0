import { generateKeyPairSync } from "node:crypto";
import { createAppAuth } from "@octokit/auth-app";
import { Octokit } from "@octokit/rest";
import { OWNER, QUIET, REPO, type TestHost } from "./setup.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** An App's own client, installed with these permissions. They may be changed at any time. */
export function installed(test: TestHost, permissions: Record<string, string>): Octokit {
  test.host.apps.add({
    id: 12,
    slug: "docs-app",
    publicKey,
    installations: [{ id: 77, account: OWNER, repositories: [REPO], permissions }],
  });
  return new Octokit({
    authStrategy: createAppAuth,
    auth: {
      appId: 12,
      privateKey: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
      installationId: 77,
    },
    baseUrl: test.host.apiUrl,
    log: QUIET,
  });
}
