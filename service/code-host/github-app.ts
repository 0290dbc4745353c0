import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Octokit } from "@octokit/rest";
import { codeOf } from "../../src/core/errors.ts";
import type { Clock } from "../../src/core/ports/process.ts";
import { createRedact, learnSecret } from "../base/redaction.ts";
import { TurnFailedError } from "../base/run-error.ts";
import type { GitHubSettings } from "../config/config.ts";
import { type Asked, answered, octokitOptions } from "./github-api.ts";
import { type CodeHostRefusal, SUSPENDED } from "./token-provider.ts";

/** What an App needs in the repository to open pull requests and follow them. */
export const PERMISSIONS: Readonly<Record<string, "read" | "write">> = {
  metadata: "read",
  contents: "write",
  pull_requests: "write",
  checks: "read",
  statuses: "read",
};

/** An App as the settings name it, and its installation. */
export type InstalledApp = NonNullable<GitHubSettings["app"]>;
/** An App of the code host's, and where its key is. */
export type AppSettings = Pick<InstalledApp, "id" | "keyFile"> & { apiUrl: string; clock: Clock };

/**
 * Sends a request as an App itself, signed with its key, and not as one of its installations.
 * Rejects as `GitHubApi.ask` does. The key is read anew each time, so that it may be replaced.
 * `route`: a method and a path, below `/app` only: its signature is sent.
 */
export async function askAsApp<Data>(
  { apiUrl, id, keyFile, clock }: AppSettings,
  asked: Asked<Data>,
  route: `${string} /app${string}`,
  params: Record<string, unknown> = {},
): Promise<Data> {
  const [privateKey, { createAppAuth }] = await Promise.all([
    readAppKey(keyFile),
    // Few have an App, and it takes a while to load.
    import("@octokit/auth-app"),
  ]);
  // Octokit signs the request, and once more by the host's clock where ours is wrong.
  const auth = { appId: id, privateKey };
  const octokit = new Octokit({ ...octokitOptions(apiUrl), authStrategy: createAppAuth, auth });
  const words = {
    clock,
    redact: createRedact([]),
    refusalOf: (refusal: CodeHostRefusal) => refusalOf(refusal, id),
  };
  const { data } = await answered(asked, words, (request) => octokit.request(route, { ...params, request }));
  return data;
}

/** The private key in a file. Rejects with a `TurnFailedError` that says what is wrong with it. */
export async function readAppKey(keyFile: string): Promise<string> {
  const failed = (detail: string) => {
    const details = [`codeHost.app.keyFile: ${detail}`];
    return new TurnFailedError("The code host's App can't be used, because its key can't.", { details });
  };
  const text = await readFile(keyFile, "utf8").catch((error: unknown) => {
    throw codeOf(error) === "ENOENT"
      ? failed(`There is no ${keyFile}. Generate a private key in the App's settings, and put it there.`)
      : failed(`Can't read ${keyFile} (${codeOf(error)}). Give it to the user that the service runs as.`);
  });
  const key = text.trim();
  learnSecret(key);
  try {
    createPrivateKey(key);
  } catch {
    throw failed(`${keyFile} isn't a private key (PEM). Generate one in the App's settings.`);
  }
  return key;
}

function refusalOf({ status, said }: CodeHostRefusal, id: number): [reason: string, advice: string] {
  if (status === 403 && /suspended/i.test(said)) return SUSPENDED;
  const known: Record<number, [reason: string, advice: string]> = {
    401: [
      "The code host refused the key of the service's App.",
      `Check that codeHost.app.keyFile is a key of App ${id}, that the App wasn't deleted, and this ` +
        "machine's clock.",
    ],
    404: [
      "The code host doesn't know the installation of the service's App.",
      `Install App ${id}, and set codeHost.app.installationId to the number at the end of the ` +
        "installation's address.",
    ],
    422: [
      "The service's App isn't installed on the repository.",
      "Add the repository to the App's installation, or correct codeHost.repo.",
    ],
  };
  return known[status] ?? [`The code host answered ${status}.`, ""];
}
