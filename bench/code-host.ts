/**
 * The tests' code host, in a process of its own. `node code-host.ts <options as JSON>`. `samples`
 * has a folder for each repository of acme. It writes the address of its API and the repositories'
 * paths on this disk. It ends when the bench has ended.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { createCodeHost } from "../world/code-host/index.ts";

const Options = z.object({
  dataDir: z.string(),
  samples: z.string(),
  token: z.string(),
  /** The token of another person, who reviews. */
  reviewerToken: z.string(),
  /** The address to listen on. */
  host: z.string().default("127.0.0.1"),
});

const {
  dataDir,
  samples,
  token,
  reviewerToken,
  host: address,
} = Options.parse(JSON.parse(process.argv[2] ?? ""));
const tokens = [token, { token: reviewerToken, login: "mira" }];
const host = await createCodeHost({ dataDir, tokens, host: address });
for (const name of readdirSync(samples)) await host.createRepository("acme", name, join(samples, name));
process.on("disconnect", () => process.exit());
const ready = {
  msg: "ready",
  url: host.url,
  apiUrl: host.apiUrl,
  repositories: join(dataDir, "repositories/acme"),
};
process.stdout.write(`${JSON.stringify(ready)}\n`);
