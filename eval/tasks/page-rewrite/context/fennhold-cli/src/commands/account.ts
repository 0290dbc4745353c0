import { command } from "../command.ts";

export const login = command({
  name: "login",
  does: "Opens the browser to sign in. The session lasts 30 days.",
  refuses: { "not signed in": "there is no session, or it is over" },
});

export const token = command({
  name: "token create",
  does: "Prints a token for programs, to be kept in FENNHOLD_TOKEN. Where it is set, nobody signs in.",
  options: [{ flag: "--app <name>", does: "limits it to one app" }],
});

export const link = command({
  name: "link",
  args: "<app>",
  does: "Connects this folder with an app, which is made if it doesn't exist, and writes fennhold.toml.",
});
