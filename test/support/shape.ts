type Kinds = Map<string, string>;

/**
 * Returns the kind of each field's value, by the field's path. Leaves out nulls, because they say
 * nothing.
 */
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

/** Returns the fields of ours whose kind differs in theirs. */
export function disagreements(ours: unknown, theirs: unknown): string[] {
  const known = kindsOf(theirs);
  return [...kindsOf(ours)].flatMap(([path, kind]) => {
    const expected = known.get(path);
    return expected === undefined || expected === kind ? [] : [`${path}: ${kind}, there ${expected}`];
  });
}
