import type { DocPage } from "../page.ts";
import { anyOf, eachLine, type Facts, isForm, keyOfText, type Rule, shown, type Trace } from "../rule.ts";

const BRACKETS: readonly RegExp[] = [
  String.raw`\[(?:please )?(?:insert|fill in|replace with|placeholder|` +
    String.raw`to be (?:added|confirmed|determined|written|defined))` +
    String.raw`\b[^\][\n]{0,60}\](?![(\[:])`,
  String.raw`\[(?:todo|tbd|tbc|fixme)(?:[:\s][^\][\n]{0,60})?\](?![(\[:])`,
  String.raw`\[(?:add|enter|your|the|link|describe)\b[^\][\n]{0,60}\b(?:here|goes here)\](?![(\[:])`,
  String.raw`\((?:insert|todo:|add) [^()\n]{0,60}\bhere\)`,
].map((source) => new RegExp(source, "gi"));
const ADDRESS = new RegExp(
  String.raw`\]\(<?(?:https?://)?` +
    anyOf(String.raw`url, link, todo, tbd, placeholder, insert[-_ ][\w-]+, link[-_]here, url[-_]here`) +
    String.raw`/?>?\)`,
  "gi",
);
/** Pages and lines that tell readers what to put there. */
const IS_TEMPLATE = /template|boilerplate|skeleton|example/i;
const IS_ABOUT = /\b(?:replac\w+|placeholders?|templates?|substitut\w+|fill)\b/i;

/** What should have been filled in: "[insert value here]". */
export const placeholder: Rule = (page, _before, facts) => {
  if (isForm(page) || IS_TEMPLATE.test(page.path)) return [];
  const found: Trace[] = [];
  const look = (inside: string, patterns: readonly RegExp[]) => {
    for (const { line, at } of eachLine(page, inside)) {
      const matches = patterns.flatMap((pattern) => [...line.matchAll(pattern)]);
      for (const { 0: text, index } of matches) {
        if (isSaid(text, facts) || IS_ABOUT.test(line.replace(text, " "))) continue;
        const says = `This stands where something is to be filled in: ${shown(text)}.`;
        found.push({ at: at + index, key: keyOfText(text), says });
      }
    }
  };
  look(page.plain, BRACKETS);
  look(page.prose, [ADDRESS]);
  return found;
};

function isSaid(text: string, { words }: Facts): boolean {
  return words.includes(text);
}

/** The agent's own folders, in any text. */
const AGENT_FOLDERS = /(?<![\w.~-])(?:\/run\/agent\/|\/tmp\/docs-agent|sandbox:\/)(?:[\w./-]*[\w/-])?/g;
/** Where agents have a repository. Readers may have something there, too. */
const CHECKOUTS = /(?<![\w.~/-])\/(?:repo|workspaces?|mnt\/data)\/([\w./-]*[\w/-])/g;

/** Paths of the machine on which the agent worked. */
export const sandboxPath: Rule = (page, before, facts) => {
  const found: Trace[] = [];
  const add = (text: string, at: number) => {
    if (isSaid(text, facts)) return;
    const says = `This path is one of the agent's own machine: ${shown(text)}.`;
    found.push({ at, key: text, says });
  };
  for (const { 0: text, index } of page.text.matchAll(AGENT_FOLDERS)) add(text, index);
  for (const { 0: text, 1: path = "", index } of page.text.matchAll(CHECKOUTS))
    if (isOfPages(path, page) && before?.text.includes(text.slice(0, -path.length)) !== true)
      add(text, index);
  return found;
};

/** True for the path of the page itself, and for one beside it or below. */
function isOfPages(path: string, page: DocPage): boolean {
  const folder = page.path.slice(0, page.path.lastIndexOf("/") + 1);
  return path === page.path || (folder !== "" && path.startsWith(folder));
}
