import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/shared/errors.ts";
import { type RealAgent, realAgents } from "./agents.ts";
import { type Drive, driveAgent } from "./drive.ts";
import { driveEvaluation } from "./evaluation.ts";
import { type InstalledAgent, installAgent } from "./install.ts";

const names = realAgents.map(({ preset }) => preset).join(", ");
const HELP = `Installs real coding agents and takes each through the job service to a pull request, with a
scripted model.

Usage: npm run test:agents -- [<agent>…] [--evaluation] [--folder <folder>] [--verbose]

Agents: ${names}.
Without a name, all of them run, one after the other. That takes about 1.5 GB and ten minutes.
  --evaluation       do the evaluation's tasks instead, with a script that plays known solutions
  --folder <folder>  install there and keep it for the next run (default: a temporary folder)
  --verbose          show the job and the model's calls even if all went well
`;

type Row = Drive & { agent: string; versions: string };

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean" },
      verbose: { type: "boolean", default: false },
      evaluation: { type: "boolean", default: false },
      folder: { type: "string" },
    },
  });
  const unknown = positionals.filter((name) => !realAgents.some(({ preset }) => preset === name));
  if (values.help === true || unknown.length > 0) {
    process.stdout.write(HELP);
    if (unknown.length > 0)
      throw new Error(`There is no agent ${unknown.join(", ")}. Choose from: ${names}.`);
    return;
  }
  const isTemporary = values.folder === undefined;
  const root = isTemporary
    ? await mkdtemp(join(tmpdir(), "docs-agent-agents-"))
    : resolve(values.folder ?? "");
  await mkdir(root, { recursive: true });
  const chosen = realAgents.filter(({ preset }) => positionals.length === 0 || positionals.includes(preset));
  const rows: Row[] = [];
  try {
    for (const agent of chosen) {
      const out = isTemporary ? null : join(root, `report-${agent.preset}`);
      const drive = values.evaluation
        ? (installed: InstalledAgent) => driveEvaluation(agent, installed, out)
        : (installed: InstalledAgent) => driveAgent(agent, installed);
      const row = await rowOf(agent, root, drive);
      rows.push(row);
      process.stdout.write(`${lineOf(row)}\n`);
      if (!row.ok || values.verbose) process.stdout.write(`${row.detail}\n`);
    }
  } finally {
    if (isTemporary) await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
  const failed = rows.filter(({ ok }) => !ok).length;
  process.stdout.write(
    `\n${rows.map(lineOf).join("\n")}\n${rows.length - failed} passed, ${failed} failed\n`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

async function rowOf(
  agent: RealAgent,
  root: string,
  drive: (installed: InstalledAgent) => Promise<Drive>,
): Promise<Row> {
  let versions = agent.version;
  try {
    const installed = await installAgent(agent, root);
    versions = installed.versions;
    process.stdout.write(`${agent.preset}: ${versions}\n`);
    return { ...(await drive(installed)), agent: agent.preset, versions };
  } catch (thrown) {
    return { ok: false, reason: messageOf(thrown), detail: "", seconds: 0, agent: agent.preset, versions };
  }
}

function lineOf({ ok, agent, versions, reason, seconds }: Row): string {
  const took = `${String(seconds).padStart(4)} s`;
  return `${ok ? "pass" : "FAIL"}  ${agent.padEnd(10)}${took}  ${versions}: ${reason}`;
}

try {
  await main();
} catch (thrown) {
  process.stderr.write(`${messageOf(thrown)}\n`);
  process.exitCode = 1;
}
