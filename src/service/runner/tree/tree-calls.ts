import type { Selection } from "../changes/select-changes.ts";
import type { Opened } from "./work-tree.ts";

/** What the thread of a tree is asked, and what it answers; see `WorkTree`. */
export type TreeCalls = {
  open: { input: { listing: Uint8Array; kept: string | null }; output: Opened };
  complete: { input: { targets: Uint8Array[] }; output: void };
  scan: { input: { docs: readonly string[] }; output: string[] };
  select: {
    input: { docs: readonly string[]; ignored: string[]; secrets: readonly string[]; copies: string };
    output: Selection;
  };
  nextIndex: { input: { oids: string[] }; output: Uint8Array };
  keep: { input: { kept: string }; output: boolean };
};

/** Where the tree is; see `WorkTree`. */
export type TreePlace = { root: string; aside: string };

export type TreeCall = {
  [Name in keyof TreeCalls]: { name: Name } & TreeCalls[Name]["input"];
}[keyof TreeCalls];

/** `isTurns`: the turn is over and failed, with this reason for people. */
export type TreeAnswer<Name extends keyof TreeCalls = keyof TreeCalls> =
  | { isDone: true; output: TreeCalls[Name]["output"] }
  | { isDone: false; problem: string; isTurns: boolean };
