import type { PageState } from "../page-protocol.ts";
import { type Offer, suggestionsAt, usageOf } from "./completion.ts";
import { announce, h, icon, toast } from "./dom.ts";

/** Options of {@link createComposer}. */
export type ComposerOptions = {
  id: string;
  state: () => PageState | null;
  /** Resolves to true if it was sent. */
  send: (text: string, file: File | null) => Promise<boolean>;
};

/** The playground accepts no larger requests. */
const FILE_MAX_BYTES = 128 * 1024;

/** A field to write messages in. */
export interface Composer {
  readonly element: HTMLElement;
  readonly field: HTMLTextAreaElement;
  /**
   * Shows where the composer writes to. Text that wasn't sent is kept for each `key`, even if the
   * tab reloads.
   */
  setPlace(place: { key: string; label: string; hint: string }): void;
  /** Replaces the typed text with this one, which a person can change or send. */
  write(text: string): void;
}

/**
 * Creates a field for messages and commands, with completion. Enter sends, and Shift and Enter
 * starts a new line.
 */
export function createComposer({ id, state, send }: ComposerOptions): Composer {
  let offered: Offer | null = null;
  let chosen = 0;
  let isSending = false;
  let file: File | null = null;
  let place = { key: "", label: "", hint: "" };

  const list = h("ul", {
    class: "suggestions",
    id: `${id}-list`,
    role: "listbox",
    "aria-label": "Suggestions",
    hidden: true,
  });
  const usage = h("div", { class: "usage small", id: `${id}-usage` });
  const field = h("textarea", {
    id: `${id}-text`,
    rows: "1",
    "aria-autocomplete": "list",
    "aria-controls": `${id}-list`,
    "aria-haspopup": "listbox",
    "aria-describedby": `${id}-usage`,
    spellcheck: "true",
    autocomplete: "off",
  });
  const button = h("button", { type: "submit", class: "send", "aria-label": "Send" }, icon("send"));
  const picker = h("input", {
    type: "file",
    hidden: true,
    on: { change: () => attach(picker.files?.[0] ?? null) },
  });
  const clip = h(
    "button",
    {
      type: "button",
      class: "send",
      "aria-label": "Attach a file",
      title: "Attach a file",
      on: { click: () => picker.click() },
    },
    icon("clip"),
  );
  const attached = h("div", { class: "attached", hidden: true });
  const form = h(
    "form",
    { class: "composer" },
    list,
    attached,
    h("div", { class: "composer-box" }, field, picker, clip, button),
    usage,
  );

  function attach(picked: File | null): void {
    const isTooLarge = (picked?.size ?? 0) > FILE_MAX_BYTES;
    if (isTooLarge) toast("That file is too large for this page. Choose one of at most 128 KB.");
    file = isTooLarge ? null : picked;
    picker.value = "";
    attached.hidden = file === null;
    attached.replaceChildren(file?.name ?? "", detachButton(file?.name ?? ""));
    look();
    if (file !== null) field.focus();
  }

  function detachButton(name: string): HTMLElement {
    const detach = () => {
      attach(null);
      field.focus();
    };
    return h(
      "button",
      { type: "button", class: "quiet", "aria-label": `Remove ${name}`, on: { click: detach } },
      icon("close"),
    );
  }

  function fit() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 240)}px`;
  }

  function look() {
    fit();
    const now = state();
    usage.textContent = (now === null ? null : usageOf(field.value, now)) ?? place.hint;
    keepDraft(place.key, field.value);
    button.classList.toggle("send-ready", field.value.trim() !== "" || file !== null);
    offer(
      now !== null && field.selectionStart === field.selectionEnd
        ? suggestionsAt(field.value, field.selectionStart, now)
        : null,
    );
  }

  function offer(found: Offer | null): void {
    const was = offered?.suggestions.length ?? 0;
    offered = found;
    chosen = 0;
    list.hidden = found === null;
    list.replaceChildren(
      ...(found?.suggestions ?? []).map((suggestion, index) =>
        h(
          "li",
          {
            id: `${id}-option-${index}`,
            role: "option",
            on: {
              // This runs before the field loses the focus.
              pointerdown: (event) => {
                event.preventDefault();
                take(index);
              },
            },
          },
          h("strong", null, suggestion.label),
          h("span", { class: "small" }, suggestion.hint),
        ),
      ),
    );
    mark();
    if (found !== null && found.suggestions.length !== was) {
      announce(found.suggestions.length === 1 ? "1 suggestion" : `${found.suggestions.length} suggestions`);
    }
  }

  function mark() {
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(index === chosen));
    }
    if (offered === null) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `${id}-option-${chosen}`);
  }

  function take(index: number): void {
    const suggestion = offered?.suggestions[index];
    if (offered === null || suggestion === undefined) return;
    const { from } = offered;
    const { insert } = suggestion;
    const rest = field.value.slice(field.selectionStart);
    field.value = `${field.value.slice(0, from)}${insert} ${rest.replace(/^ /, "")}`;
    field.selectionStart = field.selectionEnd = from + insert.length + 1;
    field.focus();
    look();
    offer(null);
  }

  /** True if the typed text already equals the chosen suggestion. Then Enter sends it. */
  function isComplete() {
    return field.value === offered?.suggestions[chosen]?.insert;
  }

  async function submit() {
    const text = field.value;
    const { key } = place;
    const taken = file;
    if ((text.trim() === "" && taken === null) || isSending) return;
    isSending = true;
    field.value = "";
    attach(null);
    const isSent = await send(text, taken).finally(() => (isSending = false));
    if (!isSent && place.key === key) attach(taken);
    // Keeps both the text that was sent in vain and the text that was typed since.
    if (!isSent && place.key !== key) keepDraft(key, text);
    else if (!isSent && field.value === "") field.value = text;
    look();
    offer(null);
  }

  field.addEventListener("input", look);
  field.addEventListener("blur", () => offer(null));
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (offered !== null) {
      const step = new Map([
        ["ArrowDown", 1],
        ["ArrowUp", -1],
      ]).get(event.key);
      if (step !== undefined) {
        event.preventDefault();
        chosen = (chosen + step + offered.suggestions.length) % offered.suggestions.length;
        mark();
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        offer(null);
        return;
      }
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !isComplete())) {
        event.preventDefault();
        take(chosen);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void submit();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });

  return {
    element: form,
    field,
    setPlace(wanted) {
      const isMoved = wanted.key !== place.key;
      if (!isMoved && wanted.label === place.label && wanted.hint === place.hint) return;
      place = wanted;
      field.setAttribute("aria-label", place.label);
      field.placeholder = place.label;
      if (isMoved) field.value = sessionStorage.getItem(draftName(place.key)) ?? "";
      if (isMoved) attach(null);
      look();
      offer(null);
    },
    write(text) {
      field.value = text;
      field.focus();
      look();
      offer(null);
    },
  };
}

function draftName(key: string): string {
  return `draft ${key}`;
}

function keepDraft(key: string, text: string): void {
  if (key === "") return;
  if (text === "") sessionStorage.removeItem(draftName(key));
  else sessionStorage.setItem(draftName(key), text);
}
