/** Words that say that something is wrong, but neither what nor where. */
const GENERIC = new Set(
  `
  a about according add added adding adds adjust all also an and any are as at avoid bad be been
  better bit branch broken by can change changed changes chore clarification clarify clean cleanup
  code command content correct corrected correction correctly couple dead description detail
  details different do doc docs document documentation documented does doesn don each edit edits
  english ensure error errors example examples extra feat few file files fix fixed fixes fixing
  follow for formatting from get give grammar grammatical guide had has have here how if improve
  improved improvement improvements improves in inaccurate incorrect information instead into
  invalid is issue issues it its last latest let like line link links little main make makes
  markdown master mention merge minor misc misleading missing mistake mistakes more move name
  names need needs new nit no not note now obsolete of old on one only or other our out outdated
  page pages paragraph part phrasing point polish proper properly pull rather readability readme
  refactor refer reference references reflect remove removed removes rename rephrase replace
  replaced request reword right sample section sentence should show simplify site small snippet so
  some spelling style suggestion syntax text than that the their them there these they this
  through to tweak tweaks two typo typos unnecessary up update updated updates updating url urls
  use used user users uses using value various version was we website when where which while will
  with word wording words would wrong you your
  `
    .trim()
    .split(/\s+/),
);

/** The words of a text, as they are written, without the marks around them. */
export function wordsIn(text: string): string[] {
  return text
    .split(/\s+/)
    .map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""))
    .filter((word) => word !== "");
}

/** Short forms of the words of a text that say what it is about. */
export function topicsOf(text: string): Set<string> {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u);
  return new Set(
    words.filter((word) => word.length > 1 && !GENERIC.has(word)).map((word) => word.slice(0, 5)),
  );
}

/** How many letters differ between two words: those that come, go or are others. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [nth, letter] of one.split("").entries()) {
    const next = [nth + 1];
    for (let at = 1; at <= other.length; at += 1) {
      const same = (row[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      next.push(Math.min(same, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** True if a word or a line is another one with a slip of the hand. Numbers are never slips. */
export function isSlip(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => text.toLowerCase());
  if (first === undefined || second === undefined || /\d/.test(`${first}${second}`)) return false;
  const longest = Math.max(first.length, second.length);
  if (Math.abs(first.length - second.length) > 2 || longest > 200) return false;
  const sorted = (text: string) => text.split("").toSorted().join("");
  return distance(first, second) <= (longest <= 4 ? 1 : 2) || sorted(first) === sorted(second);
}
