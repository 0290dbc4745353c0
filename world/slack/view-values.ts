import type { ModalView } from "./block-kit/blocks.ts";
import type { Checkboxes } from "./block-kit/objects.ts";
import { optionOf } from "./payloads.ts";
import { ImpossibleForAPerson } from "./refusal.ts";
import { inputsOf, type ViewInput, type ViewValues } from "./views.ts";

/**
 * The values that a person typed or chose, by block id and action id. The value is the text, or
 * that of the chosen option. Ticked options have a line each.
 */
export type TypedValues = Record<string, Record<string, string>>;

/**
 * Returns the state of a modal with these values, to be submitted. Throws if Slack's client
 * wouldn't let the person do that.
 */
export function fillIn(view: ModalView, typed: TypedValues): ViewValues {
  const values = typedState(view, typed);
  for (const input of inputsOf(view)) refuseUnfit(input, valueIn(typed, input));
  return values;
}

/**
 * Returns the state of a modal with these values as it is while a person types. Nothing has to be
 * filled in yet. Throws for an input that the modal doesn't show.
 */
export function typedState(view: ModalView, typed: TypedValues): ViewValues {
  const inputs = inputsOf(view);
  refuseUnknown(inputs, typed);
  const values: ViewValues = {};
  for (const input of inputs) {
    const blockId = input.block.block_id ?? "";
    const actionId = input.element.action_id ?? "";
    values[blockId] = { ...values[blockId], [actionId]: valueOf(input, valueIn(typed, input)) };
  }
  return values;
}

function valueIn(typed: TypedValues, { block, element }: ViewInput): string | undefined {
  return typed[block.block_id ?? ""]?.[element.action_id ?? ""];
}

function refuseUnknown(inputs: ViewInput[], typed: TypedValues): void {
  for (const [blockId, actions] of Object.entries(typed)) {
    for (const actionId of Object.keys(actions)) {
      const isShown = inputs.some(
        ({ block, element }) => block.block_id === blockId && element.action_id === actionId,
      );
      if (!isShown) throw new ImpossibleForAPerson(`The view shows no input ${blockId}/${actionId}.`);
    }
  }
}

function valueOf({ element }: ViewInput, typed: string | undefined): unknown {
  if (element.type === "static_select") {
    const chosen = typed === undefined ? (element.initial_option ?? null) : optionOf(element, typed);
    return { type: element.type, selected_option: chosen };
  }
  if (element.type === "checkboxes") {
    const ticked = typed === undefined ? (element.initial_options ?? []) : tickedOf(element, typed);
    return { type: element.type, selected_options: ticked };
  }
  return { type: element.type, value: textOf(element, typed) || null };
}

type TextInput = Extract<ViewInput["element"], { type: "plain_text_input" }>;

function textOf({ initial_value }: TextInput, typed: string | undefined): string {
  return typed ?? initial_value ?? "";
}

/** Throws if Slack's client doesn't submit an input with this value. */
function refuseUnfit({ block, element }: ViewInput, typed: string | undefined): void {
  const isRequired = block.type === "input" && block.optional !== true;
  if (element.type === "static_select") {
    if (isRequired && (typed ?? element.initial_option) === undefined) refuseEmpty(block.block_id);
    return;
  }
  if (element.type === "checkboxes") {
    const ticked = typed === undefined ? (element.initial_options ?? []) : tickedOf(element, typed);
    if (isRequired && ticked.length === 0) refuseEmpty(block.block_id);
    return;
  }
  const text = textOf(element, typed);
  if (isRequired && text === "") refuseEmpty(block.block_id);
  const maximum = element.max_length ?? 3000;
  const minimum = element.min_length ?? 0;
  if (text.length > maximum || (text !== "" && text.length < minimum)) {
    throw new ImpossibleForAPerson(
      `The input ${block.block_id} takes ${minimum} to ${maximum} characters, not ${text.length}.`,
    );
  }
}

function tickedOf({ options }: Checkboxes, typed: string): Checkboxes["options"] {
  const values = typed.split("\n").filter((value) => value !== "");
  const unknown = values.find((value) => !options.some((option) => option.value === value));
  if (unknown !== undefined) throw new ImpossibleForAPerson(`There is no checkbox "${unknown}".`);
  return options.filter(({ value }) => values.includes(value));
}

function refuseEmpty(blockId: string | undefined): never {
  throw new ImpossibleForAPerson(`The input ${blockId} must be filled in: Slack does not submit without it.`);
}
