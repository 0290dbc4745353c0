import type { ServiceConfig } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { isLoopback } from "../config/repository.ts";

const ANY_ADDRESS = new Set(["0.0.0.0", "::"]);

/** What is unfortunate about where and as whom the service runs, with what to do. */
export function machineWarnings(
  { listen, jobsAtOnce }: Pick<ServiceConfig, "listen" | "jobsAtOnce">,
  env: Env,
): { what: string; found: string }[] {
  const listening = listenWarning(listen.host, env);
  const user =
    process.getuid?.() === 0 && jobsAtOnce > 0
      ? "root, where only control groups limit agents' processes. Run the service as a user of its own."
      : null;
  return [
    ...(listening === null ? [] : [{ what: "listen", found: listening }]),
    ...(user === null ? [] : [{ what: "user", found: user }]),
  ];
}

/** About the address to listen on. The image sets `container`, as Podman and systemd do. */
function listenWarning(host: string, env: Env): string | null {
  if ((env["container"] ?? "") !== "") {
    if (!isLoopback(host)) return null;
    return `Nothing outside this container reaches ${host}. Set listen.host to 0.0.0.0, and publish it.`;
  }
  if (!ANY_ADDRESS.has(host)) return null;
  return (
    `${host} is every network of this machine, and keys travel unencrypted. Listen on 127.0.0.1 ` +
    "behind a proxy with TLS."
  );
}
