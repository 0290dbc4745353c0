import type { SlackSide } from "../../world/slack/index.ts";

/** The people and channels that {@link seedWorkspace} created. */
export type Seeded = {
  people: { mara: string; theo: string; priya: string; jonas: string; kim: string };
  channels: { docs: string; support: string; general: string };
};

/**
 * Fills an empty workspace with four people who work on the fictional product Tidepool, a guest,
 * three channels, and messages about mistakes in its docs. `sample-docs/` has to contain these
 * mistakes. The bot is in #docs and #support, but not in #general.
 */
export function seedWorkspace(slack: SlackSide): Seeded {
  const { workspace } = slack;
  const mara = workspace.addUser({ name: "mara", realName: "Mara Lindqvist", displayName: "Mara" }).id;
  const theo = workspace.addUser({ name: "theo", realName: "Theo Banerjee", displayName: "Theo" }).id;
  const priya = workspace.addUser({ name: "priya", realName: "Priya Raman", displayName: "Priya" }).id;
  const jonas = workspace.addUser({ name: "jonas", realName: "Jonas Okafor", displayName: "Jonas" }).id;
  const kim = workspace.addUser({
    name: "kim",
    realName: "Kim Sato",
    displayName: "Kim",
    guest: "multi-channel",
  }).id;
  const members = [mara, theo, priya, jonas];
  const docs = workspace.addChannel({ name: "docs", members: [...members, kim], withBot: true }).id;
  const support = workspace.addChannel({ name: "support", members, withBot: true }).id;
  const general = workspace.addChannel({ name: "general", members }).id;

  function say(channel: string, user: string, text: string, threadTs?: string): string {
    return workspace.say({ channel, user, text, ...(threadTs !== undefined && { threadTs }) }).ts;
  }

  say(general, jonas, "Tidepool 2.4 is out :tada: Thanks everybody, and a quiet weekend to all of us.");
  const rename = say(
    general,
    priya,
    "Reminder: the product is called Tidepool. The install page still writes TidePool, with a " +
      "capital P, in a few places.",
  );
  say(general, theo, "True, I saw that yesterday.", rename);

  say(docs, mara, "I just read the quickstart with fresh eyes. It needs some love.");
  const typos = say(
    docs,
    theo,
    "The quickstart has typos in it: “recieve”, “seperate” and “immediatly”. Not a good first impression.",
  );
  say(docs, priya, "And there is “automaticaly” on the install page.", typos);
  say(
    docs,
    jonas,
    "The link to the API reference in `docs/quickstart.md` is broken: it points to " +
      "`api/refrence.md`. You get a 404 right after your first reading.",
  );
  say(
    docs,
    mara,
    `<@${theo}> do you have ten minutes for the typos? Or just ask docs-agent, it's in this channel.`,
  );

  say(
    support,
    priya,
    "A customer can't find the list of adapters: the link in the FAQ goes nowhere, it says " +
      "`guides/adaptors.md`.",
  );
  say(
    support,
    jonas,
    "Second one this week. The install page also spells the product TidePool. It's Tidepool, with a small p.",
  );
  return { people: { mara, theo, priya, jonas, kim }, channels: { docs, support, general } };
}
