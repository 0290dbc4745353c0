import { anyOf, eachLine, type Facts, type Trace, keyOfText, type Rule, shown } from "../rule.ts";

const THANKS = new RegExp(
  String.raw`\b${anyOf(
    "thanks, thank you, credit, kudos, props, courtesy, according, reported, asked, requested, suggested, " +
      "pointed out, confirmed, noted, said, says, found, raised, spotted, mentioned, shared, note from, " +
      "message from, asked by, ask",
  )}\b`,
  "i",
);

/** The name of a person whose words were quoted, unless the requester's own words have it. */
export const quotedName: Rule = (page, before, { quotedNames, words }: Facts) => {
  const found: Trace[] = [];
  for (const name of quotedNames) {
    if (name.length < 3 || hasName(words, name)) continue;
    if (before !== null && hasName(before.text, name)) continue;
    const pattern = patternOf(name);
    for (const { line, at } of eachLine(page)) {
      const match = pattern.exec(line);
      if (match === null) continue;
      const isCertain =
        /\s/.test(name.trim()) ||
        line.slice(0, match.index).endsWith("@") ||
        nearThanks(line, match.index, name);
      if (!isCertain) continue;
      found.push({
        at,
        key: `${name} ${keyOfText(line)}`,
        says: `The page names ${shown(name)}, who was quoted in Slack.`,
      });
    }
  }
  return found;
};

function patternOf(name: string): RegExp {
  const escaped = name
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replace(/\s+/g, String.raw`\s+`);
  return new RegExp(String.raw`(?<![\p{L}\d_])${escaped}(?![\p{L}\d_])`, "u");
}

function hasName(text: string, name: string): boolean {
  return patternOf(name).test(text);
}

function nearThanks(line: string, at: number, name: string): boolean {
  const around = line.slice(Math.max(0, at - 40), at + name.length + 30);
  return THANKS.test(around);
}
