/**
 * The tests' code host, in a process of its own. `node code-host.ts <options as JSON>`. `samples`
 * has a folder for each repository of acme. Says where its API is, and where the repositories are
 * on this disk. Ends when the bench is gone.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { createCodeHost } from "../../world/code-host/index.ts";

const Options = z.object({
  dataDir: z.string(),
  samples: z.string(),
  token: z.string(),
  /** Of somebody else, who reviews. */
  reviewerToken: z.string(),
});

const { dataDir, samples, token, reviewerToken } = Options.parse(JSON.parse(process.argv[2] ?? ""));
const host = await createCodeHost({ dataDir, tokens: [token, { token: reviewerToken, login: "mira" }] });
for (const name of readdirSync(samples)) await host.createRepository("acme", name, join(samples, name));
process.on("disconnect", () => process.exit());
const ready = { msg: "ready", apiUrl: host.apiUrl, repositories: join(dataDir, "repositories/acme") };
process.stdout.write(`${JSON.stringify(ready)}\n`);
