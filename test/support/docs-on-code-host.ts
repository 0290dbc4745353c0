import type { CodeHost } from "../../world/code-host/index.ts";
import type { ServiceFolder } from "./service-process.ts";

type Host = Pick<CodeHost, "createRepository" | "gitUrl" | "apiUrl">;

/** Puts a folder's docs onto a code host, as acme/docs. */
export async function putDocsOn(host: Host, folder: ServiceFolder): Promise<void> {
  await host.createRepository("acme", "docs", folder.dir.file("docs-repository"));
}

/** What a project's settings say of acme/docs there. `access`: how to sign in. */
export function docsOn({ gitUrl, apiUrl }: Host, access: object = { tokenEnv: "DOCS_TOKEN" }) {
  return {
    repository: gitUrl("acme", "docs"),
    codeHost: { kind: "github" as const, apiUrl, owner: "acme", repo: "docs", ...access },
  };
}

/** Settings for a test on one machine, without its projects. */
export const TEST_SETTINGS = {
  listen: { port: 0 },
  dataDir: "./data",
  containment: "none",
  stopGraceMinutes: 0,
};
