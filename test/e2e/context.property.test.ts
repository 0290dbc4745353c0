// @module-tag all

import fc from "fast-check";
import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const GUS = "U0GUS";

type Act = { kind: "say" | "guest" | "mention" | "new" | "shortcut" | "again"; pick: number };

const acts = fc.array(
  fc.record<Act>({
    kind: fc.constantFrom("say", "say", "guest", "mention", "new", "shortcut", "shortcut", "again"),
    pick: fc.noBias(fc.nat(1023)),
  }),
  { minLength: 4, maxLength: 8 },
);

/** A thread, what was said in it, and what of that may leave Slack. Each message is a word that is nowhere else. */
class Thread {
  readonly world: World;
  readonly root: SlackMessage;
  readonly said: { ts: string; word: string; isGuests: boolean }[] = [];
  readonly faults: string[] = [];
  readonly withheld = new Set<string>();
  /** Picked themselves, which is a consent of its own. */
  readonly picked = new Set<string>();
  /** How many of the messages a job knows of; not of those that a retry created. */
  readonly seen = new Map<string, number>();

  constructor(world: World) {
    this.world = world;
    this.root = this.say(BEN);
  }

  say(user: string): SlackMessage {
    const { world, said, root } = this;
    world.clock.advanceTo(world.clock.now() + 1000);
    const word = `word${said.length}.`;
    const at = said.length === 0 ? {} : { threadTs: root.ts };
    const message = world.slack.workspace.say({ channel: DOCS, user, text: word, ...at });
    said.push({ ts: message.ts, word, isGuests: user === GUS });
    return message;
  }

  async do({ kind, pick }: Act): Promise<void> {
    const { world, root } = this;
    if (kind === "say" || kind === "guest") {
      this.say(kind === "guest" ? GUS : ANA);
      return;
    }
    const calls = this.calls().length;
    if (kind === "mention" || kind === "new") {
      const text = kind === "new" ? "new: do it" : "do it";
      await world.slack.person(ANA).mention({ channel: DOCS, threadTs: root.ts, text });
    } else if (kind === "shortcut") await this.shortcut(pick);
    else if (!(await this.tryAgain(pick))) return;
    await world.until(() => this.calls().length > calls);
    this.check(kind);
    const jobId = this.jobs().at(-1) ?? "";
    const ended = this.outcomes().length;
    world.service.finish(jobId, { status: "failed" });
    await world.until(() => this.outcomes().length > ended);
    await world.settle();
  }

  /** Ana's form on one of the messages that are not withheld, with some of those that it lists unticked. */
  async shortcut(pick: number): Promise<void> {
    const { slack } = this.world;
    const open = this.said.filter(({ word }) => !this.withheld.has(word));
    const { ts } = open[pick % open.length] ?? this.root;
    await slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: ts });
    const form = await slack.until(() => {
      const view = slack.openViews(ANA).at(-1);
      return JSON.stringify(view?.view ?? "").includes("Reading the thread") ? undefined : view;
    });
    const values: Record<string, Record<string, string>> = {};
    // A form that shares nothing needs words.
    values["instructions"] = { instructions: "fix it" };
    let n = 0;
    for (const block of form.view.blocks) {
      if (block.type !== "input" || block.element.type !== "checkboxes") continue;
      const ticked: string[] = [];
      for (const option of block.element.options) {
        const word = this.said.find((message) => message.ts === option.value)?.word ?? "";
        n += 1;
        if (((pick >> (n % 10)) & 1) === 1) ticked.push(option.value ?? "");
        else if (word !== "") this.withheld.add(word);
        if (option.value === ts && ticked.includes(ts)) this.picked.add(word);
      }
      values[block.block_id ?? ""] = { share: ticked.join("\n") };
    }
    await slack.person(ANA).submit({ viewId: form.id, values });
  }

  async tryAgain(pick: number): Promise<boolean> {
    const buttons = this.outcomes().filter(({ blocks }) => JSON.stringify(blocks).includes("try_again"));
    const on = buttons[pick % Math.max(1, buttons.length)];
    if (on === undefined) return false;
    await this.world.slack.person(BEN).click({ channel: DOCS, messageTs: on.ts, actionId: "try_again" });
    return true;
  }

  check(kind: Act["kind"]): void {
    const call = this.calls().at(-1);
    const isShown = ({ word }: { word: string }) => call?.prompt?.includes(word) === true;
    const shown = this.said.filter(isShown).map(({ word }) => word);
    const isOpen = ({ word, isGuests }: { word: string; isGuests: boolean }) =>
      !isGuests && (!this.withheld.has(word) || this.picked.has(word));
    const leaked = this.said.filter((message) => isShown(message) && !isOpen(message));
    if (leaked.length > 0)
      this.faults.push(`${kind}: ${leaked.map(({ word }) => word).join(" ")} left Slack`);
    const jobId = this.jobs().at(-1) ?? "";
    const known = call?.op === "create" ? 0 : this.seen.get(jobId);
    // All that is new to the job goes along, and nothing else.
    if ((kind === "mention" || kind === "new") && known !== undefined) {
      const fresh = this.said
        .slice(known)
        .filter(({ word, isGuests }) => !isGuests && !this.withheld.has(word));
      const wanted = fresh.map(({ word }) => word).join(" ");
      if (shown.join(" ") !== wanted) this.faults.push(`${kind}: ${shown.join(" ")} in place of ${wanted}`);
    }
    if (kind !== "again") this.seen.set(jobId, this.said.length);
  }

  calls() {
    return this.world.service.calls.filter(({ op }) => op === "create" || op === "message");
  }

  /** Of the calls. */
  jobs(): string[] {
    const { creates, messages } = this.world.service;
    const [ofCreates, ofMessages] = [[...creates], [...messages]];
    return this.calls().map(
      ({ op }) => (op === "create" ? ofCreates.shift() : ofMessages.shift())?.jobId ?? "",
    );
  }

  outcomes(): SlackMessage[] {
    return this.world
      .replies(DOCS, this.root.ts)
      .filter((message) => this.world.slack.visibleText(message).startsWith("❌ @"));
  }
}

const SAY: Act = { kind: "say", pick: 0 };
/** The second form has everything ticked; the second of three messages was unticked in the first one. */
const twoForms: Act[] = [SAY, SAY, { kind: "shortcut", pick: 0b1010 }, { kind: "shortcut", pick: 1023 }];
/** A mention is tried again after what it took along was unticked. */
const triedAgain: Act[] = [
  SAY,
  { kind: "mention", pick: 0 },
  { kind: "shortcut", pick: 1023 - 0b100 },
  { kind: "again", pick: 0 },
];

it("nothing that was unticked, and nothing of a guest, is in any later prompt, whatever is asked in a thread", async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (run) => {
      await using world = await World.start();
      world.slack.workspace.addUser({ id: GUS, name: "gus", guest: "multi-channel" });
      world.slack.workspace.invite(DOCS, GUS);
      const thread = new Thread(world);
      for (const act of run) await thread.do(act);
      expect(thread.faults).toEqual([]);
    }),
    { numRuns: 8, endOnFailure: true, examples: [[twoForms], [triedAgain]] },
  );
});
