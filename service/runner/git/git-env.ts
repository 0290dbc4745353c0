import { type Env, pickEnv } from "../../config/env.ts";
import { serviceProxy } from "../../config/env.ts";

/**
 * What git may know of the service's environment: how to find itself and how to reach the network.
 */
const PASSED_ON = [
  "PATH",
  "ALL_PROXY",
  "all_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  "SSH_AUTH_SOCK",
] as const;

export type GitSetting = readonly [key: string, value: string];

/**
 * Outweighs every configuration file: what could run a program, leave the machine unasked, or
 * change contents is off.
 */
const SETTINGS: readonly GitSetting[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.symlinks", "false"],
  ["core.autocrlf", "false"],
  ["core.pager", "cat"],
  ["core.askPass", ""],
  ["credential.helper", ""],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["protocol.allow", "never"],
  ["protocol.http.allow", "always"],
  ["protocol.https.allow", "always"],
  // A redirect could carry the request, and what it says, to a host that nobody named.
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "500"],
  ["http.lowSpeedTime", "60"],
  // Mirrors are packed by `upkeep.ts`, when nobody waits.
  ["maintenance.auto", "false"],
  ["gc.auto", "0"],
  ["commit.gpgSign", "false"],
  ["push.gpgSign", "false"],
];

/**
 * The whole environment of a git process: nothing of the user's or the system's configuration, and
 * `settings` (where credentials go) on top. Settings travel as variables because arguments are
 * visible to every process on the machine.
 */
export function gitEnv(env: Env, home: string, settings: readonly GitSetting[]): Record<string, string> {
  const all = [...SETTINGS, ...settings];
  return {
    ...pickEnv(env, PASSED_ON),
    ...proxyEnv(env),
    HOME: home,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=30",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(
      all.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/**
 * As we read them: git itself knows HTTP_PROXY in lower case only, and doesn't take it for https.
 */
function proxyEnv(env: Env): Record<string, string> {
  const { http, https, none } = serviceProxy(env);
  const variables = { http_proxy: http, https_proxy: https || http, no_proxy: none };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}
