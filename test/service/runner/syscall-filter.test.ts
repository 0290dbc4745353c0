// @module-tag all

import { expect, it } from "vitest";
import { openRunnerWorld } from "../../support/runner-world.ts";

/** Numbers of add_key, request_key, keyctl, io_uring_setup, bpf, getpid. */
const NUMBERS = process.arch === "arm64" ? [217, 218, 219, 425, 280, 172] : [248, 249, 250, 425, 321, 39];

/** What a program in the sandbox is told by the kernel: a result, or the error's number. */
const PERL = `
  my ($add_key, $request_key, $keyctl, $io_uring, $bpf, $getpid) = (${NUMBERS.join(", ")});
  my %said;
  sub told { my ($name, $result) = @_; $said{$name} = $result >= 0 ? "ok" : $! + 0; }
  my ($user, $mine, $bytes, $ring) = ("user", "mine", "secret", "\\0" x 200);
  told(add_key => syscall($add_key, $user, $mine, $bytes, 6, -3));
  told(request_key => syscall($request_key, $user, $mine, 0, 0));
  told(keyctl => syscall($keyctl, 0, -3, 0));
  told(io_uring => syscall($io_uring, 4, $ring));
  told(bpf => syscall($bpf, 0, $ring, 100));
  told(getpid => syscall($getpid));
  for my $family (1, 2, 10, 16, 17, 38, 40) { told("family $family", socket(my $s, $family, $family == 16 ? 3 : 1, 0) ? 0 : -1); }
  $said{keys} = open(my $f, "<", "/proc/keys") ? join("", <$f>) : "";
  open(my $out, ">", "docs/report.md");
  print $out "{" . join(",", map { my $v = $said{$_}; $v =~ s/[^\\w ]//g; "\\"$_\\":\\"$v\\"" } sort keys %said) . "}";
`;

async function told(containment: "required" | "none"): Promise<unknown> {
  await using world = await openRunnerWorld({ containment });
  await world.run(world.project(["perl", "-e", PERL]));
  return JSON.parse(await world.show("docs/report.md"));
}

it("keeps an agent from the keyrings, from sockets that leave its network, and from io_uring", async () => {
  expect(await told("required")).toEqual({
    add_key: "1",
    request_key: "1",
    keyctl: "1",
    io_uring: "1",
    bpf: "1",
    getpid: "ok",
    "family 1": "ok",
    "family 2": "ok",
    "family 10": "ok",
    "family 16": "ok",
    "family 17": "97",
    "family 38": "97",
    "family 40": "97",
    keys: "",
  });
});

it("would find some of that where nothing holds it", async () => {
  // Otherwise the test above could not fail.
  expect(await told("none")).toMatchObject({ add_key: "ok", getpid: "ok" });
});
