/** Verbs that changes of documentation begin with. */
const VERBS = [
  ..."add adjust align allow bump change clarify clean complete convert correct create delete".split(" "),
  ..."describe document drop enable expand explain extend fix format improve include insert".split(" "),
  ..."introduce label link list mark mention merge move name note order point refresh remove".split(" "),
  ..."rename reorder rephrase replace restore restructure revert reword rewrite shorten simplify sort".split(
    " ",
  ),
  ..."state swap sync tidy translate trim turn unify update use warn write".split(" "),
];
const IRREGULAR = {
  made: "make",
  rewritten: "rewrite",
  rewrote: "rewrite",
  written: "write",
  wrote: "write",
};

/** What a verb may look like at the start of a sentence, each with the verb itself. */
const FORMS = new Map([
  ...VERBS.flatMap((verb) => endings(verb).map((form) => [form, verb] as const)),
  ...Object.entries(IRREGULAR),
]);
const LEAD = new RegExp(
  String.raw`^(?:(?:ok(?:ay)?|done|sure|title|summary|result)\s*[:.!,–—-]+[*_]*\s*)?` +
    String.raw`(?:(?:i|we)(?:['’]ve| have)?(?: (?:now|also|just|successfully|gone ahead and))? ` +
    String.raw`|successfully |this (?:pull request|pr|change|commit|turn) |changes?: )?`,
  "i",
);

/** A sentence about what was done as an instruction: "I have updated …" becomes "Update …". */
export function imperative(said: string): string {
  const line = said.slice(LEAD.exec(said)?.[0].length ?? 0) || said;
  const [first = ""] = /^\p{L}+(?![\p{L}-])/u.exec(line) ?? [];
  const start = FORMS.get(first.toLowerCase()) ?? first;
  return start.slice(0, 1).toUpperCase() + start.slice(1) + line.slice(first.length);
}

function endings(verb: string): string[] {
  if (verb.endsWith("e")) return [`${verb}d`, `${verb}s`, `${verb.slice(0, -1)}ing`];
  if (/[^aeiou]y$/.test(verb)) return [`${verb.slice(0, -1)}ied`, `${verb.slice(0, -1)}ies`, `${verb}ing`];
  const stem = ["drop", "swap", "trim"].includes(verb) ? verb + verb.slice(-1) : verb;
  return [`${stem}ed`, `${stem}ing`, /(?:x|s|sh|ch)$/.test(verb) ? `${verb}es` : `${verb}s`];
}
