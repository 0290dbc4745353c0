import { command, flag } from "../command.ts";
import { upload } from "../upload.ts";

export const deploy = command({
  name: "deploy",
  summary: "Upload a folder",
  flags: {
    env: flag.text({
      help: "the environment to deploy to",
      placeholder: "name",
      default: "production",
      // TODO(5.0): drop the alias
      deprecatedAliases: ["target"],
    }),
    targetDir: flag.text({ help: "the path below which the files appear", placeholder: "path", default: "/" }),
    yes: flag.switch({ help: "ask nothing" }),
  },
  async run({ args: [folder], flags, ask }) {
    if (flags.env === "production" && !flags.yes) await ask(`Replace what is live?`);
    return upload(folder, { environment: flags.env, below: flags.targetDir });
  },
});
