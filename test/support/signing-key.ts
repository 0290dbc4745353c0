import { execFileSync } from "node:child_process";

/** Makes a private SSH key in this file, with the public one beside it. Needs `openssh-client`. */
export function makeSigningKey(file: string, passphrase: string): void {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", file]);
}
