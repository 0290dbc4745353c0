import fc from "fast-check";
import { expect, it } from "vitest";
import { chooseProject, isWorthKeeping, type ProjectChoice } from "../../../src/app/rules/project-choice.ts";
import type { ProjectRef } from "../../../src/app/rules/project.ts";

const SERVICE = "https://agents.example";
const ALL = ["docs", "api", "handbook", "cli"].map((name): ProjectRef => ({
  service: SERVICE,
  id: `id-${name}`,
  name,
}));
const CHANNELS = ["C0DOCS", "C0API", "C0RANDOM"];
const names = ALL.map(({ name }) => name);

const settings = fc
  .record({
    count: fc.integer({ min: 1, max: ALL.length }),
    channels: fc.dictionary(fc.constantFrom(...CHANNELS), fc.nat(), { maxKeys: 2 }),
  })
  .map(({ count, channels }) => {
    const [first = fail(), ...rest] = ALL.slice(0, count);
    const ofChannel = Object.entries(channels).map(([id, n]) => [id, ALL[n % count]?.name ?? ""] as const);
    const projects: [ProjectRef, ...ProjectRef[]] = [first, ...rest];
    return { projects, projectOfChannel: new Map(ofChannel) };
  });
const asked = fc.record({
  option: fc.option(fc.constantFrom(...names, "DOCS", "nope")),
  channelId: fc.constantFrom(...CHANNELS),
  last: fc.option(fc.constantFrom(...ALL)),
});

function fail(): never {
  throw new Error("no project");
}

function nameOf(choice: ProjectChoice): string {
  return choice.kind === "chosen" ? choice.project.name : choice.kind;
}

it("goes by the option, the channel, the person, the only one, and then asks or takes the first", () => {
  fc.assert(
    fc.property(settings, asked, ({ projects, projectOfChannel }, { option, channelId, last }) => {
      const known = projects.map(({ name }) => name);
      const choice = chooseProject({ projects, projectOfChannel }, { option, channelId, last });
      const ofChannel = projectOfChannel.get(channelId);
      const isLastKnown = last !== null && known.includes(last.name);
      const otherwise = projectOfChannel.size > 0 ? "ask" : known[0];
      const expected =
        option !== null
          ? known.includes(option.toLowerCase())
            ? option.toLowerCase()
            : "unknown-project"
          : known.length === 1
            ? known[0]
            : (ofChannel ?? (isLastKnown ? last.name : otherwise));
      expect(nameOf(choice)).toBe(expected);
      if (choice.kind === "chosen") expect(projects).toContain(choice.project);
    }),
  );
});

it("keeps a choice if it then gives that project where no channel does, and never for a channel's", () => {
  fc.assert(
    fc.property(settings, asked, fc.nat(), (given, { channelId, last }, n) => {
      const before = chooseProject(given, { option: null, channelId, last });
      const chosen = given.projects[n % given.projects.length] ?? given.projects[0];
      const kept = isWorthKeeping(chosen, before) ? chosen : last;
      const after = chooseProject(given, { option: null, channelId, last: kept });
      if (given.projectOfChannel.has(channelId) && given.projects.length > 1) {
        expect(kept).toBe(last);
        expect(after).toEqual(before);
      } else expect(nameOf(after)).toBe(chosen.name);
    }),
  );
});
