/**
 * The header in which a job service says with every answer what it speaks, and a client with every
 * request. Its value is a list of tokens separated by commas.
 */
export const LEVEL_HEADER = "Docs-Agent-Capabilities";

/** Its name where headers are read by names in lower case. */
export const LEVEL_KEY = "docs-agent-capabilities" satisfies Lowercase<typeof LEVEL_HEADER>;

/**
 * What a job service or its client speaks: 0 is the contract alone, and 1 everything that
 * `docs/job-service.md` adds to it. At 2, a job answers reviews, too, and is brought up to date. At
 * 3, it can be asked for an answer that changes nothing. Both sides use the lower of their levels.
 * A level grows by optional fields alone. New operations make the next one, which includes it.
 */
export type Level = 0 | 1 | 2 | 3;

const LEVELS: readonly Level[] = [0, 1, 2, 3];
/** The names of all levels above the contract, the highest first. */
const NAMES = LEVELS.slice(1)
  .map((level) => `docs-agent/${level}`)
  .toReversed();
/** `docs-agent/1` and so on. A higher level than ours includes ours. */
const LEVEL_TOKEN = /^docs-agent\/([1-9]\d{0,3})$/;

/** In the contract alone, a service may still say that it honors idempotency keys. */
const HONORS_KEYS = "idempotency-key";

/**
 * What level 1 consists of, as the version before named it part by part. All parts together count
 * as level 1 for one release, and fewer as the contract. Our service still names them, for a client
 * of that version.
 */
const PARTS = [
  HONORS_KEYS,
  "turns",
  "list",
  "cancel",
  "archive",
  "questions",
  "attachments",
  "requester",
  "authors",
  "pull-request",
  "diff",
  "close",
  "changes",
];
/** The parts that a client of the version before asked for, each for itself. */
const FIELDS = ["turns", "questions", "pull-request"];

/** What a service of this level says of itself. It names lower levels, too, for older clients. */
export function saidByService(level: Level): readonly string[] {
  return level === 0 ? [] : [...NAMES.slice(-level), ...PARTS];
}

/** What our service says of itself. */
export const SAID_BY_SERVICE = saidByService(3);
/** What our client says that it reads. */
export const SAID_BY_CLIENT: readonly string[] = [...NAMES, ...FIELDS];

type HeaderValue = string | readonly string[] | null | undefined;

/** What a service speaks, from a value of {@link LEVEL_HEADER} or its tokens. */
export function levelOfService(said: HeaderValue): Level {
  const tokens = tokensOf(said);
  return highestOf(tokens) || (PARTS.every((part) => tokens.has(part)) ? 1 : 0);
}

/**
 * What a client reads, from a value of {@link LEVEL_HEADER}. For one release, one of the old fields
 * is enough, because a client leaves out what it doesn't know.
 */
export function levelOfClient(said: HeaderValue): Level {
  const tokens = tokensOf(said);
  return highestOf(tokens) || (FIELDS.some((field) => tokens.has(field)) ? 1 : 0);
}

/** True if a service says that it honors idempotency keys. */
export function saysItHonorsKeys(said: HeaderValue): boolean {
  return levelOfService(said) > 0 || tokensOf(said).has(HONORS_KEYS);
}

/** The highest level that is named, as far as we know them. 0 if none is. */
function highestOf(tokens: ReadonlySet<string>): Level {
  const named = [...tokens].map((token) => Number(LEVEL_TOKEN.exec(token)?.[1] ?? 0));
  const highest = Math.max(0, ...named);
  return LEVELS.findLast((level) => level <= highest) ?? 0;
}

function tokensOf(said: HeaderValue): ReadonlySet<string> {
  const tokens = [said ?? []].flat().flatMap((value) => value.split(","));
  return new Set(tokens.map((token) => token.trim().toLowerCase()));
}
