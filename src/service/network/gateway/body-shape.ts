import { ModelCallFault } from "./model-trouble.ts";

/** What an operator allows beyond what we know to be safe. */
export type AllowedExtras = {
  /**
   * Paths as they are logged, for example `generationConfig.speechConfig` or
   * `messages.content[audio]`.
   */
  fields: readonly string[];
  /** Types of tools. For Gemini, the names of their fields. */
  tools: readonly string[];
  /** Values of `anthropic-beta` and `openai-beta`. */
  betas: readonly string[];
};
export type LeftOutKind = keyof AllowedExtras;

/** Decides what may pass that isn't in our lists, and is called with what didn't. */
export type AllowedBesides = { extras: AllowedExtras; onLeftOut: (kind: LeftOutKind, name: string) => void };

type Place = AllowedBesides & { path: string };

/**
 * Filters a part of a request's body. Returns what to send on, or undefined for nothing. Throws a
 * {@link ModelCallFault} for what must not be left out silently.
 */
export type Shape = {
  (value: unknown, place: Place): unknown;
  /** The parts that it tells apart, if it does. A test compares them with the providers' SDKs. */
  outline?: () => Outline | undefined;
};
/** An object's fields, or the shapes by `type`. `untyped` is the type of objects without one. */
export type Outline =
  | { fields: ReadonlyMap<string, Shape> }
  | { types: ReadonlyMap<string, Shape>; untyped: string | undefined };

/** Deeper nesting is an attack on whoever reads it. */
const MAX_DEPTH = 200;
const LINKED = "Send images and files as data, not as links or ids that the provider would follow.";

/** Passes unchanged. For data that the provider hands to the model, and for plain values. */
export const any: Shape = (value) => value;

/** Something stored at the provider, perhaps by somebody else with the same key. */
export const stored: Shape = (value, { path }) => {
  if (value === null || value === undefined) return undefined;
  throw new ModelCallFault(400, `What is stored at the provider isn't available here. Leave out ${path}.`);
};

/**
 * Content that the provider would fetch from elsewhere. In an address, an agent could send anything
 * to anybody.
 */
export const linked: Shape = (value) => {
  if (value === null || value === undefined || value === "") return undefined;
  throw new ModelCallFault(400, LINKED);
};

/** An address that must contain its data itself. */
export const dataUrl: Shape = (value, place) =>
  typeof value === "string" && (value === "" || /^\s*data:/i.test(value)) ? value : linked(value, place);

/** Base64, or a data URL. */
export const data: Shape = (value, place) =>
  typeof value === "string" && (/^\s*data:/i.test(value) || !/[^a-z0-9+/=_\s-]/i.test(value))
    ? value
    : linked(value, place);

/** A text, or a value with this shape. */
export function textOr(shape: Shape): Shape {
  return around(
    () => shape,
    (value, place) => (typeof value === "string" ? value : shape(value, place)),
  );
}

/** A shape that isn't defined yet, because shapes can contain each other. */
export function later(shape: () => Shape): Shape {
  return around(shape, (value, place) => shape()(value, place));
}

/** `read`, which reads what the inner shape reads and does something more. */
export function around(inner: () => Shape, read: Shape): Shape {
  return Object.assign(read, { outline: () => inner().outline?.() });
}

/**
 * An object, or a list of objects. Fields in `names`, and `type`, pass unchanged. Fields in
 * `nested` have a shape. Other fields are left out. A name that a lenient server would read as one
 * of ours is refused. With `alsoSnakeCase`, names may be written in either way, and are sent on in
 * our spelling.
 */
export function object(
  names: string,
  nested: Readonly<Record<string, Shape>> = {},
  { alsoSnakeCase = false, kind = "fields" }: { alsoSnakeCase?: boolean; kind?: LeftOutKind } = {},
): Shape {
  const plain = names.split(" ").filter((name) => name !== "");
  const outline = {
    fields: new Map([...["type", ...plain].map((name) => [name, any] as const), ...Object.entries(nested)]),
  };
  const fields = [...outline.fields].map(([name, shape]) => ({ name, shape }));
  const known = new Map(fields.map((field) => [field.name, field]));
  const similar = new Map(fields.map((field) => [folded(field.name), field]));
  const read = each((given, place) => {
    const kept = new Map<string, unknown>();
    for (const [name, value] of Object.entries(given)) {
      const path = place.path === "" ? name : `${place.path}.${name}`;
      const what = kind === "fields" ? path : name;
      const field = known.get(name) ?? similar.get(folded(name));
      if (place.extras[kind].includes(what)) kept.set(name, value);
      else if (field === undefined) place.onLeftOut(kind, what);
      else if (name !== field.name && !(alsoSnakeCase && name === snakeCase(field.name))) {
        throw new ModelCallFault(400, `Write ${field.name} instead of ${shown(name)}.`);
      } else if (kept.has(field.name)) {
        throw new ModelCallFault(400, `The request has ${field.name} in two spellings.`);
      } else {
        const sent = field.shape(value, { ...place, path });
        if (sent !== undefined) kept.set(field.name, sent);
      }
    }
    return Object.fromEntries(kept);
  });
  return Object.assign(read, { outline: () => outline });
}

/**
 * Objects that are distinguished by their `type`, ignoring a date in it. Objects without one have
 * the type `untyped`.
 */
export function byType(
  shapes: Readonly<Record<string, Shape>>,
  { untyped, kind = "fields" }: { untyped?: string; kind?: LeftOutKind } = {},
): Shape {
  const known = new Map(Object.entries(shapes));
  const read = each((given, place) => {
    const type = ("type" in given ? given.type : null) ?? untyped;
    const name = typeof type === "string" ? type : "";
    const what = kind === "fields" ? `${place.path}[${name}]` : name;
    if (place.extras[kind].includes(what)) return given;
    const shape = known.get(name) ?? known.get(name.replace(/_\d{8}$/, ""));
    if (shape === undefined) place.onLeftOut(kind, what);
    return shape?.(given, place);
  });
  return Object.assign(read, { outline: () => ({ types: known, untyped }) });
}

/**
 * Returns what to send on of a request's body. Throws a {@link ModelCallFault} if the rest isn't a
 * usable request. It is written anew: of two fields with one name, the upstream could read the
 * other one.
 */
export function admit(shape: Shape, body: object, admission: AllowedBesides): object {
  refuseDepth(body);
  const onLeftOut: AllowedBesides["onLeftOut"] = (kind, name) => admission.onLeftOut(kind, shown(name));
  return Object(shape(body, { extras: admission.extras, onLeftOut, path: "" }));
}

/** The headers `anthropic-beta` and `openai-beta` with the values that may be sent on. */
export function admitBetas(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  known: ReadonlySet<string>,
  { extras, onLeftOut }: AllowedBesides,
): Record<string, string> {
  const admitted: Record<string, string> = {};
  for (const name of ["anthropic-beta", "openai-beta"]) {
    const given = String(headers[name] ?? "")
      .split(",")
      .map((value) => value.trim());
    const kept = given.filter((value) => known.has(value) || extras.betas.includes(value));
    for (const value of given) if (value !== "" && !kept.includes(value)) onLeftOut("betas", shown(value));
    if (kept.length > 0) admitted[name] = kept.join(",");
  }
  return admitted;
}

/** In a list, anything that isn't an object is left out. */
function each(one: (given: object, place: Place) => unknown): Shape {
  return (value, place) => {
    if (value === null || value === undefined) return value;
    if (Array.isArray(value)) {
      return value.flatMap((item: unknown) => {
        const sent = isObject(item) && !Array.isArray(item) ? one(item, place) : undefined;
        return sent === undefined ? [] : [sent];
      });
    }
    if (isObject(value)) return one(value, place);
    throw new ModelCallFault(400, `The request isn't valid: check ${place.path}.`);
  };
}

function refuseDepth(body: object): void {
  let level: object[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) {
      throw new ModelCallFault(400, `The request is nested more than ${MAX_DEPTH} levels deep.`);
    }
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Normalizes a name as servers do that ignore case (in any script), underscores or hyphens. */
function folded(name: string): string {
  return name.normalize("NFKC").toUpperCase().toLowerCase().replaceAll(/[_-]/g, "");
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function shown(name: string): string {
  return name.replaceAll(/[^\w.:/@=[\]-]/g, "?").slice(0, 100);
}
