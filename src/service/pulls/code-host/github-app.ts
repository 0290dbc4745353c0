import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Octokit } from "@octokit/rest";
import { codeOf } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { createRedact, learnSecret } from "../../base/redaction.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import type { GitHubSettings } from "../../config/config.ts";
import { type Asked, answered, octokitOptions } from "./github-api.ts";
import { type FaultWords } from "./github-fault.ts";
import { knownRefusal, type RefusalWords } from "./refusals.ts";
import { type CodeHostRefusal, otherRefusal } from "./token-provider.ts";

/** The permissions that an App needs in the repository to open pull requests and follow them. */
export const PERMISSIONS: Readonly<Record<string, "read" | "write">> = {
  metadata: "read",
  contents: "write",
  pull_requests: "write",
  checks: "read",
  statuses: "read",
};

/** An App and its installation, as in the settings. */
export type InstalledApp = NonNullable<GitHubSettings["app"]>;
/** An App of the code host and the path of its key. */
export type AppSettings = Pick<InstalledApp, "id" | "keyFile"> & { apiUrl: string; clock: Clock };

/**
 * Sends a request as the App itself, signed with its key, rather than as one of its installations.
 * Rejects as `GitHubApi.ask` does. The key is read each time, so that it can be replaced while the
 * service runs. `route` must be below `/app`, because the signature is sent along.
 */
export async function askAsApp<Data>(
  { apiUrl, id, keyFile, clock }: AppSettings,
  asked: Asked<Data>,
  route: `${string} /app${string}`,
  params: Record<string, unknown> = {},
): Promise<Data> {
  const [privateKey, { createAppAuth }] = await Promise.all([
    readAppKey(keyFile),
    // Loaded on demand, because few operators use an App and loading it takes a while.
    import("@octokit/auth-app"),
  ]);
  // Octokit signs the request. If our clock is wrong, it signs again by the host's clock.
  const auth = { appId: id, privateKey };
  const octokit = new Octokit({ ...octokitOptions(apiUrl), authStrategy: createAppAuth, auth });
  const words: FaultWords = { clock, redact: createRedact([]), refusalOf: (told) => refusalOf(told, id) };
  const { data } = await answered(asked, words, (request) => octokit.request(route, { ...params, request }));
  return data;
}

/**
 * Reads a private key from a file. Rejects with a `TurnFailedError` that says what is wrong with
 * it.
 */
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

function refusalOf({ status, said }: CodeHostRefusal, id: number): RefusalWords {
  const known: Record<number, RefusalWords> = {
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
  return knownRefusal(said) ?? known[status] ?? otherRefusal({ status, said });
}
