import { command } from "../command.ts";

/** What the command prints at the end. Each deploy has an address of its own. */
export function lastLines({ id, app }: { id: `d_${string}`; app: string }): string[] {
  return [`Deploy ${id} is running.`, `https://${id.replace("_", "-")}.${app}.fennhold.example.com`];
}

// An id has four letters or digits after the d_, as in d_7f3k.
export const deploy = command({
  name: "deploy",
  does: "Uploads this folder, builds it, and starts a preview. Prints the deploy's id and its address.",
  options: [{ flag: "--detach", does: "ends after the upload, without waiting for the build" }],
  refuses: {
    "build failed": "the build's command ended with an error, which is printed above",
    "too large": "the folder has more than 500 MB without what is ignored",
    "health check failed": "the app didn't answer /healthz within 60 seconds",
  },
});

export const release = command({
  name: "release",
  args: "<deploy>",
  does: "Gives the app's address to a deploy. Requests that run are finished by the one before.",
  options: [{ flag: "--gradual", does: "sends it 10 % of the requests for ten minutes first" }],
});

export const rollback = command({
  name: "rollback",
  does: "Gives the address back to the release before. The newest 20 releases are kept.",
  options: [{ flag: "--to <deploy>", does: "to this one instead" }],
});
