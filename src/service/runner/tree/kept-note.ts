import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NotedFile, NotedFolder } from "../changes/noted.ts";

type Written = { identity: string; files: [string, NotedFile][]; folders: [string, Written][] };

/** Writes down beside a kept tree what it holds. Read by this process only: the next one begins without kept trees. */
export function writeKept(kept: string, folder: NotedFolder): void {
  writeFileSync(join(kept, "note.json"), JSON.stringify(toWritten(folder)), { mode: 0o600, flag: "wx" });
}

/** What `writeKept` wrote. Throws if it is not there. */
export function readKept(kept: string): NotedFolder {
  const written: Written = JSON.parse(readFileSync(join(kept, "note.json"), "utf8"));
  return fromWritten(written);
}

function toWritten({ identity, files, folders }: NotedFolder): Written {
  return {
    identity,
    files: [...files],
    folders: [...folders].map(([name, folder]) => [name, toWritten(folder)]),
  };
}

function fromWritten({ identity, files, folders }: Written): NotedFolder {
  return {
    identity,
    files: new Map(files),
    folders: new Map(folders.map(([name, folder]) => [name, fromWritten(folder)])),
  };
}
