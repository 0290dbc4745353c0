import { command } from "../command.ts";

export const secrets = command({
  name: "secrets set",
  args: "<NAME>",
  does: "Asks for a value, or reads it from standard input. It counts from the next deploy on.",
});

export const logs = command({
  name: "logs",
  does: "Prints the last 100 lines of the app that has the address.",
  options: [
    { flag: "--follow", does: "goes on as lines arrive" },
    { flag: "--deploy <id>", does: "of this deploy instead" },
  ],
});
