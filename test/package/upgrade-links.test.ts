import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { keepPrivate } from "../../src/shared/store/sqlite/file-owner.ts";
import { readJournal, writeJournal } from "../../src/upgrade/durable.ts";
import { Releases } from "../../src/upgrade/releases.ts";
import type { UpgradeJournal } from "../../src/upgrade/rules.ts";
import { StoredState } from "../../src/upgrade/stored-state.ts";
import { openTempDir, type TempDir } from "../support/temp-dir.ts";

const JOURNAL: UpgradeJournal = {
  version: 1,
  from: "0.1.0-aaaaaaaa",
  to: "0.2.0-rc.1-bbbbbbbb",
  units: ["docs-agent"],
  backup: "backups/20261130123456",
  isBack: false,
};
const ROOTS = "root's own\n";

/** A folder where the programs' user has put a link to root's file under some name. */
async function openTrap(...names: string[]): Promise<TempDir & { isWhole: () => boolean }> {
  const dir = await openTempDir();
  writeFileSync(dir.file("roots"), ROOTS, { mode: 0o644 });
  mkdirSync(dir.file("data"));
  for (const name of names) symlinkSync(dir.file("roots"), dir.file(name));
  const isWhole = () =>
    readFileSync(dir.file("roots"), "utf8") === ROOTS &&
    (lstatSync(dir.file("roots")).mode & 0o777) === 0o644;
  return { ...dir, file: dir.file.bind(dir), isWhole };
}

function openState(dir: TempDir): StoredState {
  return new StoredState(dir.file("."), createSystemClock());
}

function makeState(dir: TempDir): void {
  using db = new DatabaseSync(dir.file("data/docs-agent.sqlite"));
  db.exec("CREATE TABLE kv (key TEXT, value TEXT)");
}

it("keeps the journal in a file of its own, and reads it through no link", async () => {
  await using dir = await openTrap("upgrade.json.new");
  writeJournal(dir.file("upgrade.json"), JOURNAL);
  expect(readJournal(dir.file("upgrade.json"))).toEqual(JOURNAL);
  expect(dir.isWhole()).toBe(true);
  symlinkSync(dir.file("upgrade.json"), dir.file("other.json"));
  expect(() => readJournal(dir.file("other.json"))).toThrow(/^Can't read /);
});

it.each([
  ["a release elsewhere", { to: "../../etc" }],
  ["a release before elsewhere", { from: "0.1.0/../../x-aaaaaaaa" }],
  ["a copy elsewhere", { backup: "backups/../../home" }],
  ["another unit", { units: ["sshd"] }],
])("takes no journal that names %s", async (_, change) => {
  await using dir = await openTempDir();
  writeFileSync(dir.file("upgrade.json"), JSON.stringify({ ...JOURNAL, ...change }));
  expect(() => readJournal(dir.file("upgrade.json"))).toThrow(/^Can't read .*The version that began it can/);
});

it("puts the copy back beside no link", async () => {
  await using dir = await openTrap("data/docs-agent.sqlite-restored");
  makeState(dir);
  const state = openState(dir);
  await state.copyTo(dir.file("backups/1"));
  state.restore(dir.file("backups/1"));
  expect(dir.isWhole()).toBe(true);
  expect(lstatSync(dir.file("data/docs-agent.sqlite")).isFile()).toBe(true);
  expect(existsSync(dir.file("data/docs-agent.sqlite-restored"))).toBe(false);
});

it("locks a file through no link, and leaves the file that it leads to its rights", async () => {
  await using dir = await openTrap("data/docs-agent.sqlite-owner", "upgrade-owner");
  makeState(dir);
  await expect(openState(dir).own()).rejects.toThrow(/docs-agent\.sqlite/);
  expect(() => keepPrivate(dir.file("upgrade-owner"))).toThrow(/ELOOP/);
  expect(dir.isWhole()).toBe(true);
});

it.each(["data/docs-agent.sqlite", ".env", "service.yml"])("refuses %s that is a link", async (name) => {
  await using dir = await openTrap(name);
  expect(() => openState(dir)).toThrow(`${dir.file(name)} is a link.`);
});

it.each(["backups", "releases"])("refuses a folder %s that is a link", async (name) => {
  await using dir = await openTempDir();
  mkdirSync(dir.file("elsewhere"));
  mkdirSync(dir.file("data"));
  symlinkSync(dir.file("elsewhere"), dir.file(name));
  makeState(dir);
  const use = async () =>
    name === "releases"
      ? new Releases(dir.file("."), {})
      : await openState(dir).copyTo(dir.file("backups/1"));
  await expect(use()).rejects.toThrow(/ is a link\. Put in its place what it leads to/);
  expect(existsSync(dir.file("elsewhere/1"))).toBe(false);
});
