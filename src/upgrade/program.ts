import type { Command } from "commander";
import { TerminalPrompt } from "../setup/terminal-prompt.ts";
import { commandNamed, type CommandProcess } from "../shared/machine/command-line.ts";
import { Upgrade } from "./upgrade.ts";

type ProgramDeps = Omit<CommandProcess, "say">;

const AFTER = `
What it does: installs the package beside what runs, asks its doctor, stops the programs, copies their
state, switches, starts them, and asks the doctor again. If that finds a fault before the newer version
has worked on a request, it goes back. If it breaks off, run it again: it ends what it began.

Exit codes: 0 the version is installed and all is well, 1 it isn't, 2 wrong usage.
`;

/** The command line that installs a version, or brings a newer one. */
export function createUpgradeProgram(deps: ProgramDeps): Command {
  const { version, env, clock, write, input, isTerminal } = deps;
  const about = "Installs a version of Docs Agent from its package, or brings a newer one.";
  return commandNamed("upgrade", { version, about, after: AFTER })
    .argument("<package>", "the file that npm pack makes, such as docs-agent-slack-0.2.0.tgz")
    .option("--folder <path>", "the installation's folder", "/opt/docs-agent")
    .option("--yes", "stop and start the programs without asking", false)
    .action(async (file: string, { folder, yes: isSure }: { folder: string; yes: boolean }) => {
      const agree = async (question: string) => {
        if (isSure) return true;
        if (!isTerminal) return false;
        using prompt = new TerminalPrompt({ input, isTerminal, write });
        return /^y(?:es)?$/i.test(await prompt.ask(`${question} (y/N)`));
      };
      using upgrade = await Upgrade.open({ folder, env, clock, say: write, agree });
      deps.onEnd(await upgrade.to(file));
    });
}
