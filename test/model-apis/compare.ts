import type { Outline, Shape } from "../../src/service/network/gateway/body-shape.ts";

/** The result of `read-sdks.mjs`. Several names in one text have " | " between them. */
export type Known = {
  sdks: Record<string, string>;
  betas: string[];
  bodies: Record<string, string>;
  types: Record<string, { type?: string; fields: Record<string, string> }>;
};

/** A shape of ours, the first place that has it, and the parts that SDKs have in all its places. */
type Met = { outline: Outline; path: string; theirs: Map<string, { path: string; types: Set<string> }> };

/**
 * Compares our shapes of bodies with what the SDKs know. `unknown` is what an SDK knows and our
 * shape doesn't. `besides` is what our shape lets pass although no SDK knows it in any of the
 * shape's places. Each is named once, by its path in the log, with the type of an object where
 * shapes differ by it. What our shape passes unchanged or refuses is compared no further.
 */
export function compareWithSdks(shapes: Readonly<Record<string, Shape>>, known: Known) {
  const met = new Map<unknown, Met>();
  const queue = Object.entries(shapes).map(([body, shape]) => {
    return { shape, types: namesIn(known.bodies[body]), path: body };
  });
  for (const { shape, types, path } of queue) {
    const outline = shape.outline?.();
    if (outline === undefined) continue;
    const parts = partsOf(outline);
    const { theirs } = entry(met, parts, () => ({ outline, path, theirs: new Map() }));
    for (const [name, itsTypes] of types.flatMap((type) => sdkParts(outline, type, known))) {
      const isFirst = !theirs.has(name);
      const part = entry(theirs, name, () => ({ path: pathTo(outline, path, name), types: new Set() }));
      const added = itsTypes.filter((type) => !part.types.has(type));
      for (const type of added) part.types.add(type);
      const inner = parts.get(name);
      if (inner !== undefined && (isFirst || added.length > 0)) {
        queue.push({ shape: inner, types: added, path: pathTo(outline, path, name) });
      }
    }
  }
  return {
    unknown: [...met.values()].flatMap(({ outline, theirs }) =>
      [...theirs].filter(([name]) => !partsOf(outline).has(name)).map(([, part]) => part.path),
    ),
    besides: [...met.values()].flatMap(({ outline, path, theirs }) =>
      [...partsOf(outline).keys()]
        .filter((name) => !theirs.has(name))
        .map((name) => pathTo(outline, path, name)),
    ),
  };
}

function partsOf(outline: Outline): ReadonlyMap<string, Shape> {
  return "fields" in outline ? outline.fields : outline.types;
}

function pathTo(outline: Outline, path: string, name: string): string {
  return "fields" in outline ? `${path}.${name}` : `${path}[${name}]`;
}

/** The parts of an SDK's type (fields or types, as in our shape), with each part's types. */
function sdkParts(outline: Outline, name: string, known: Known): [part: string, types: string[]][] {
  const type = known.types[name];
  if (type === undefined) throw new Error(`The type ${name} isn't in known.json.`);
  if ("fields" in outline) {
    const fields = Object.entries(type.fields).map(([field, types]): [string, string[]] => [
      field,
      namesIn(types),
    ]);
    return [["type", []], ...fields];
  }
  const values = (type.type ?? outline.untyped ?? "").split(" ");
  return values.map((value) => [outline.types.has(value) ? value : value.replace(/_\d{8}$/, ""), [name]]);
}

function namesIn(list = ""): string[] {
  return list.split(" | ").filter((name) => name !== "");
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}
