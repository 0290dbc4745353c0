import { pickEnv, type Env } from "../../env.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * `containment: none`: agents run as the service's user and see what it sees. Only their process group is ended with them, and a process that
 * leaves the group escapes that.
 */
export function noSandbox(env: Env): Sandbox {
  return {
    kind: "none",
    bounds: { memory: "none", processes: "none" },
    open: async ({ folders: { tree, home, tmp } }) => ({
      inside: { tree, home, tmp },
      networkPort: null,
      contain: (line, options = {}) => ({
        ...line,
        env: { ...pickEnv(env, ["PATH"]), ...options.env },
        cwd: options.cwd ?? tree,
      }),
      ranOutOfMemory: async () => false,
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}
