import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../service/config/env.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { ownFile } from "../shared/store/sqlite/file-owner.ts";
import { StoreInUseError } from "../shared/store/store-errors.ts";
import { readJournal, writeJournal } from "./durable.ts";
import { askDoctor, askDoctorOfRunning } from "./examine-release.ts";
import { manifestChanges } from "./manifest-changes.ts";
import { Releases } from "./releases.ts";
import { isOlder, type UpgradeJournal, nextStep, UpgradeError, versionOfRelease } from "./rules.ts";
import { removeCopy, StoredState } from "./stored-state.ts";
import { Units } from "./units.ts";

type UpgradeDeps = {
  /** The installation's folder. */
  folder: string;
  env: Env;
  clock: Clock;
  say: (text: string) => void;
  /** Asks the operator. Resolves to false if they don't want that, or nobody can be asked. */
  agree: (question: string) => Promise<boolean>;
};

/** An installation whose version is changed. Only one process at a time can open it. */
export class Upgrade implements Disposable {
  readonly #deps: UpgradeDeps;
  readonly #releases: Releases;
  readonly #units: Units;
  readonly #lock: Disposable;

  private constructor(deps: UpgradeDeps, lock: Disposable) {
    this.#deps = deps;
    this.#releases = new Releases(deps.folder, deps.env);
    this.#units = new Units(deps.env);
    this.#lock = lock;
  }

  /** Rejects with an {@link UpgradeError} if another process upgrades this installation. */
  static async open(deps: UpgradeDeps): Promise<Upgrade> {
    mkdirSync(deps.folder, { recursive: true });
    const lock = await ownFile(join(deps.folder, "upgrade"), deps.clock, 0).catch((thrown: unknown) => {
      if (!(thrown instanceof StoreInUseError)) throw thrown;
      throw new UpgradeError(`Another upgrade of ${deps.folder} is running. Wait for its end.`);
    });
    return new Upgrade(deps, lock);
  }

  /** Brings the version of a package. Resolves to true if it runs then, or is ready to. */
  async to(file: string): Promise<boolean> {
    const { say } = this.#deps;
    const left = readJournal(this.#journal());
    if (left !== null) {
      say(`An upgrade to ${versionOfRelease(left.to)} broke off. This ends it first.\n`);
      if (!(await this.#carryOn(left))) return false;
    }
    const from = this.#releases.current();
    const { release: to, version, install } = await this.#releases.unpack(file);
    if (to === from) {
      say(`${version} is already installed.\n`);
      return true;
    }
    if (from !== null && isOlder(version, versionOfRelease(from))) {
      throw new UpgradeError(
        `${version} is older than ${versionOfRelease(from)}, and older versions can't read what newer ones ` +
          "stored. Nothing was changed. docs/operate.md says how to go back.",
      );
    }
    say(`Installing ${version} beside ${from === null ? "nothing" : versionOfRelease(from)}…\n`);
    await install();
    const units = await this.#units.running();
    if (this.#state().hasSettings()) {
      say(`Asking the doctor of ${version}…\n`);
      const faults = await askDoctor(to, this.#place());
      for (const fault of faults) say(fault);
      // Programs that don't run are a fault in themselves, and the new version may mend it.
      const allRun = units.length > 0 && !(await this.#units.hasFailed(units));
      if (faults.length > 0 && allRun) {
        throw new UpgradeError("Fix this, and try again. Nothing was changed.");
      }
    }
    const stopped = units.length === 0 ? "" : ` This stops ${units.join(" and ")} for a moment.`;
    if (!(await this.#deps.agree(`Switch to ${version}?${stopped}`))) {
      throw new UpgradeError("Nothing was changed. Add --yes to switch without a question.");
    }
    const journal: UpgradeJournal = { version: 1, from, to, units, backup: null, isBack: false };
    writeJournal(this.#journal(), journal);
    return await this.#carryOn(journal);
  }

  /** Does the steps that are left. Resolves to false if the newer version has faults. */
  async #carryOn(begun: UpgradeJournal): Promise<boolean> {
    let journal = begun;
    for (;;) {
      switch (nextStep(journal, this.#releases.current())) {
        case "switch":
          journal = await this.#switch(journal);
          break;
        case "try": {
          const faults = await this.#try(journal);
          if (faults.length === 0) return this.#end(journal, this.#wordsOfEnd(journal));
          for (const fault of faults) this.#deps.say(fault);
          const { from } = journal;
          if (from === null) return this.#stay(journal, "There is no version before it to go back to.");
          await this.#units.stop(journal.units);
          journal = { ...journal, isBack: true };
          writeJournal(this.#journal(), journal);
          break;
        }
        case "restore": {
          const reason = await this.#restore(journal);
          if (reason !== null) return this.#stay(journal, `${reason}, so it keeps running.`);
          break;
        }
        case "start-old": {
          await this.#units.start(journal.units);
          const old = versionOfRelease(this.#releases.current() ?? "");
          this.#end(journal, `Went back to ${old}, with its state. Send us what the doctor said.\n`);
          return false;
        }
      }
    }
  }

  async #switch(journal: UpgradeJournal): Promise<UpgradeJournal> {
    const { folder, clock, say } = this.#deps;
    const state = this.#state();
    await this.#units.stop(journal.units);
    let begun = journal;
    try {
      using owned = await state.own();
      if (owned === null) {
        throw new UpgradeError(
          "A program still runs that systemd didn't start. Stop it, and run this again. Nothing was changed.",
        );
      }
      // A switch that broke off may have left a part of one, in this second or before.
      if (journal.backup !== null) removeCopy(join(folder, journal.backup));
      const backup = join("backups", new Date(clock.now()).toISOString().replaceAll(/\D/g, "").slice(0, 14));
      begun = { ...journal, backup };
      writeJournal(this.#journal(), begun);
      if (state.hasSettings()) {
        await state.copyTo(join(folder, backup));
        say(`Copied the state to ${join(folder, backup)}.\n`);
      }
      if (state.isOnRedis) say("The app's state is on Redis. Copy its files yourself (docs/operate.md).\n");
      this.#releases.setCurrent(journal.to);
      say(`Switched to ${versionOfRelease(journal.to)}.\n`);
      return begun;
    } catch (thrown) {
      if (this.#releases.current() === journal.from) {
        await this.#units.start(journal.units);
        writeJournal(this.#journal(), null);
        if (begun.backup !== null) removeCopy(join(folder, begun.backup));
      }
      throw thrown;
    }
  }

  async #try({ to, units }: UpgradeJournal): Promise<string[]> {
    if (units.length === 0) return [];
    await this.#units.start(units);
    this.#deps.say(`Asking the doctor of ${versionOfRelease(to)} again…\n`);
    return await askDoctorOfRunning(to, units, this.#place());
  }

  /** Resolves to the reason, and changes nothing, if that can't be or would undo work. */
  async #restore({ from, backup }: UpgradeJournal): Promise<string | null> {
    const state = this.#state();
    using owned = await state.own();
    if (owned === null) return "A program that systemd didn't start uses its state";
    if (from === null || backup === null) return "There is no copy of its state from before";
    const copy = join(this.#deps.folder, backup);
    if (state.hasWorkedSince(copy)) {
      return "It has worked on requests since, which going back would undo";
    }
    state.restore(copy);
    this.#releases.setCurrent(from);
    return null;
  }

  /** Ends an upgrade whose new version has faults, but stays. */
  async #stay(journal: UpgradeJournal, why: string): Promise<false> {
    await this.#units.start(journal.units);
    const about = versionOfRelease(journal.to);
    this.#end(
      journal,
      `${about} is installed, and something is wrong. ${why}\n` +
        `Do what the doctor says above, and run ${this.#command("doctor")} until all is well.\n`,
    );
    return false;
  }

  #end({ from, to }: UpgradeJournal, words: string): true {
    const { say } = this.#deps;
    writeJournal(this.#journal(), null);
    this.#releases.keepOnly([this.#releases.current() === to ? from : to, this.#releases.current()]);
    say(words);
    return true;
  }

  #wordsOfEnd({ from, to, units }: UpgradeJournal): string {
    const version = versionOfRelease(to);
    if (!this.#state().hasSettings())
      return `${version} is installed. Next: docs/install.md, with the setup.\n`;
    const how = this.#command("setup --update-manifest");
    const changes =
      from === null ? "" : manifestChanges(this.#releases.pathOf(from), this.#releases.pathOf(to), how);
    const next =
      units.length > 0
        ? `${version} runs, and all is well.\n`
        : `${version} is installed. Start the programs, and run ${this.#command("doctor")}.\n`;
    return `${next}${changes}`;
  }

  /** A command as its reader types it: root, in a clone, is another user in another folder. */
  #command(args: string): string {
    const command = `docs-agent-slack ${args}`;
    return this.#state().owner() === null ? command : `su - docs-agent -c "${command}"`;
  }

  #journal(): string {
    return join(this.#deps.folder, "upgrade.json");
  }

  /** As the settings are now. */
  #state(): StoredState {
    return new StoredState(this.#deps.folder, this.#deps.clock);
  }

  #place() {
    const { folder, env, clock } = this.#deps;
    return { folder, env, clock, releases: this.#releases, units: this.#units, state: this.#state() };
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }
}
