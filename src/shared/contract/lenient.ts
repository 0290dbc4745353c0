import { z } from "zod";
import { cut } from "../text/text.ts";

/** What a reader has to know about a part of what it reads, besides its schema. */
export type ReadingHints = {
  /** What an unreadable or absent value is read as, or a function of the other fields. */
  ifUnreadable?: unknown;
  /** True for a text or a list that means nothing once it is cut, such as an id. */
  isWhole?: boolean;
};

/** The hints for parts of the contract, by their schemas. */
export const readingHints = z.registry<ReadingHints>();

/**
 * Reads what a service sends, although it may tell less than ours or something else. Texts are cut
 * to the schema's bounds. What can't be read is null where that is allowed, absent where that is
 * allowed, and left out of a list, of which the newest items stay. A value that must be there is
 * read as {@link readingHints} say, and a list as empty. Without any of these, the whole object
 * can't be read. Fields that a loose object doesn't know stay as they are.
 */
export function lenient<T extends z.ZodType>(schema: T) {
  return z.preprocess((raw) => repaired(schema, raw), schema);
}

const UNREADABLE = Symbol("unreadable");

/** The nearest value that the schema takes, or {@link UNREADABLE}. */
function repaired(schema: z.core.$ZodType, raw: unknown): unknown {
  if (schema instanceof z.ZodNullable) {
    const value = raw === undefined ? null : repaired(schema.unwrap(), raw);
    return value === UNREADABLE ? null : value;
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    const value = raw === undefined ? undefined : repaired(schema.unwrap(), raw);
    return value === UNREADABLE ? undefined : value;
  }
  if (schema instanceof z.ZodObject) return repairedObject(schema, raw);
  if (schema instanceof z.ZodArray) return repairedList(schema, raw);
  if (schema instanceof z.ZodString) return repairedText(schema, raw);
  return z.safeParse(schema, raw).success ? raw : UNREADABLE;
}

function repairedObject(schema: z.ZodObject, raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return UNREADABLE;
  const told = new Map<string, unknown>(Object.entries(raw));
  const found = new Map<string, unknown>(schema.def.catchall instanceof z.ZodUnknown ? told : []);
  const missing: [string, z.core.$ZodType][] = [];
  for (const [name, part] of Object.entries(schema.shape)) {
    const value = repaired(part, told.get(name));
    if (value === UNREADABLE) missing.push([name, part]);
    else if (value !== undefined) found.set(name, value);
  }
  const others = Object.fromEntries(found);
  for (const [name, part] of missing) {
    const { ifUnreadable = part instanceof z.ZodArray ? [] : UNREADABLE } = readingHints.get(part) ?? {};
    const value: unknown = typeof ifUnreadable === "function" ? ifUnreadable(others) : ifUnreadable;
    if (value === UNREADABLE) return UNREADABLE;
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

function repairedList(schema: z.ZodArray, raw: unknown): unknown {
  if (!Array.isArray(raw)) return UNREADABLE;
  const items = raw.map((item) => repaired(schema.element, item)).filter((item) => item !== UNREADABLE);
  const bound = schema.def.checks?.find((check) => check instanceof z.core.$ZodCheckMaxLength);
  const max = bound?._zod.def.maximum ?? Infinity;
  if (items.length <= max) return items;
  return readingHints.get(schema)?.isWhole === true ? UNREADABLE : items.slice(-max);
}

function repairedText(schema: z.ZodString, raw: unknown): unknown {
  if (typeof raw !== "string") return UNREADABLE;
  const isWhole = readingHints.get(schema)?.isWhole === true;
  const text = isWhole || schema.maxLength === null ? raw : cut(raw, schema.maxLength);
  return z.safeParse(schema, text).success ? text : UNREADABLE;
}
