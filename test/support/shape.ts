type Kinds = Map<string, string>;

/** Every field of an answer by its path, with what kind of value it has. Nulls say nothing and are left out. */
export function kindsOf(value: unknown, path = "", kinds: Kinds = new Map()): Kinds {
  if (value === null) return kinds;
  if (Array.isArray(value)) {
    kinds.set(path, "array");
    if (value.length > 0) kindsOf(value[0], `${path}[]`, kinds);
  } else if (typeof value === "object") {
    kinds.set(path, "object");
    for (const [key, part] of Object.entries(value)) kindsOf(part, `${path}.${key}`, kinds);
  } else kinds.set(path, typeof value);
  return kinds;
}

/** What ours has and theirs has as something else. */
export function disagreements(ours: unknown, theirs: unknown): string[] {
  const known = kindsOf(theirs);
  return [...kindsOf(ours)].flatMap(([path, kind]) => {
    const expected = known.get(path);
    return expected === undefined || expected === kind ? [] : [`${path}: ${kind}, there ${expected}`];
  });
}
