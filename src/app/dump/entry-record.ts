import type { SchemasOf } from "../../shared/store/record-types.ts";
import { jsonOf } from "../../shared/text/text.ts";
import { type AppRecords, recordSchemas } from "../rules/records.ts";
import type { Entry } from "./transfer.ts";

/** A kind of record. */
export type Kind = keyof AppRecords;

const schemas: SchemasOf<AppRecords> = recordSchemas;

/** The record that an entry holds. Undefined if it is of another kind, or can't be read. */
export function entryRecord<K extends Kind>(kind: K, entry: Entry): AppRecords[K] | undefined {
  if (entry.kind !== "record" || !entry.id.startsWith(`${kind}:`)) return undefined;
  const stored = jsonOf(entry.text);
  const value = typeof stored === "object" && stored !== null && "value" in stored ? stored.value : undefined;
  return schemas[kind].safeParse(value).data;
}
