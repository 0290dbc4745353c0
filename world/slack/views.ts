import type { HomeView, ModalView, ViewBlock } from "./block-kit/blocks.ts";
import type { Checkboxes, PlainText, PlainTextInput, StaticSelect } from "./block-kit/objects.ts";
import { makeId, makeSecret } from "./ids.ts";
import { SlackRefusal } from "./refusal.ts";
import type { WireHome, WireView } from "./sdk-types.ts";
import type { Workspace } from "./workspace.ts";

/** An open modal of a person. */
export type OpenView = {
  id: string;
  user: string;
  view: ModalView;
  hash: string;
  rootViewId: string;
  previousViewId: string | null;
  /** The errors of the last submission according to the app, by block id. */
  errors: Record<string, string>;
  /** Set if Slack couldn't deliver the last submission. */
  failure?: string;
};

/** What a person's Home tab shows. */
export type ShownHome = { id: string; user: string; view: HomeView; hash: string };

/** At most three modals can be on top of each other. See https://docs.slack.dev/surfaces/modals */
const MAX_STACK = 3;

/** The open modals: a stack for each person, with the visible one last. */
export class Views {
  readonly #workspace: Workspace;
  readonly #stacks = new Map<string, OpenView[]>();
  readonly #homes = new Map<string, ShownHome>();
  /** False if the app's settings have no Home tab. */
  isHomeEnabled = true;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  openFor(userId: string): OpenView[] {
    return [...(this.#stacks.get(userId) ?? [])];
  }

  find(viewId: string): OpenView | undefined {
    return [...this.#stacks.values()].flat().find((view) => view.id === viewId);
  }

  findByExternalId(externalId: string): OpenView | undefined {
    return [...this.#stacks.values()].flat().find((open) => open.view.external_id === externalId);
  }

  /** Opens a modal instead of those that the person had open. */
  open(userId: string, view: ModalView): OpenView {
    this.#refuseUsedExternalId(view);
    this.#stacks.set(userId, []);
    return this.#put(userId, view);
  }

  push(userId: string, view: ModalView): OpenView {
    this.#refuseUsedExternalId(view);
    if (this.openFor(userId).length >= MAX_STACK) throw new SlackRefusal("push_limit_reached");
    return this.#put(userId, view);
  }

  update(open: OpenView, view: ModalView): void {
    open.view = view;
    open.hash = newHash();
    open.errors = {};
    delete open.failure;
    this.#workspace.changed();
  }

  showErrors(open: OpenView, errors: Record<string, string>): void {
    open.errors = errors;
    delete open.failure;
    this.#workspace.changed();
  }

  showFailure(open: OpenView, failure: string): void {
    open.errors = {};
    open.failure = failure;
    this.#workspace.changed();
  }

  close(open: OpenView): void {
    const stack = this.#stacks.get(open.user) ?? [];
    this.#stacks.set(
      open.user,
      stack.filter((view) => view !== open),
    );
    this.#workspace.changed();
  }

  closeAll(userId: string): void {
    this.#stacks.delete(userId);
    this.#workspace.changed();
  }

  homeOf(userId: string): ShownHome | undefined {
    return this.#homes.get(userId);
  }

  publish(user: string, view: HomeView): ShownHome {
    const home = { id: this.homeOf(user)?.id ?? makeId("V"), user, view, hash: newHash() };
    this.#homes.set(user, home);
    this.#workspace.changed();
    return home;
  }

  /** Returns the Home tab as Slack shows it to apps. */
  homeToWire({ id, view, hash }: ShownHome): WireHome {
    const { team, bot } = this.#workspace;
    return {
      id,
      team_id: team.id,
      type: "home",
      blocks: view.blocks,
      private_metadata: view.private_metadata ?? "",
      callback_id: view.callback_id ?? "",
      state: { values: {} },
      hash,
      clear_on_close: false,
      notify_on_close: false,
      previous_view_id: null,
      root_view_id: id,
      app_id: bot.appId,
      external_id: view.external_id ?? "",
      app_installed_team_id: team.id,
      bot_id: bot.botId,
    } satisfies WireHome;
  }

  /** Returns the view as Slack shows it to apps, with these values filled in. */
  toWire(open: OpenView, values: ViewValues = {}): WireView {
    const { team, bot } = this.#workspace;
    const { view } = open;
    return {
      id: open.id,
      team_id: team.id,
      type: "modal",
      blocks: view.blocks,
      private_metadata: view.private_metadata ?? "",
      callback_id: view.callback_id ?? "",
      state: { values },
      hash: open.hash,
      title: shown(view.title),
      clear_on_close: view.clear_on_close ?? false,
      notify_on_close: view.notify_on_close ?? false,
      close: view.close === undefined ? null : shown(view.close),
      submit: view.submit === undefined ? null : shown(view.submit),
      previous_view_id: open.previousViewId,
      root_view_id: open.rootViewId,
      app_id: bot.appId,
      external_id: view.external_id ?? "",
      app_installed_team_id: team.id,
      bot_id: bot.botId,
    } satisfies WireView;
  }

  #put(userId: string, view: ModalView): OpenView {
    const stack = this.#stacks.get(userId) ?? [];
    const id = makeId("V");
    const open: OpenView = {
      id,
      user: userId,
      view,
      hash: newHash(),
      rootViewId: stack[0]?.id ?? id,
      previousViewId: stack.at(-1)?.id ?? null,
      errors: {},
    };
    this.#stacks.set(userId, [...stack, open]);
    this.#workspace.changed();
    return open;
  }

  #refuseUsedExternalId(view: ModalView): void {
    if (view.external_id === undefined || view.external_id === "") return;
    if (this.findByExternalId(view.external_id)) throw new SlackRefusal("duplicate_external_id");
  }
}

/** The `state.values` of a view: the value of each input by block id and action id. */
export type ViewValues = Record<string, Record<string, unknown>>;

export type ViewInput = { block: ViewBlock; element: PlainTextInput | StaticSelect | Checkboxes };

/** Returns every element of a view that has a value, with its block. */
export function inputsOf(view: ModalView): ViewInput[] {
  return view.blocks.flatMap((block): ViewInput[] => {
    if (block.type === "input") return [{ block, element: block.element }];
    if (block.type === "section" && block.accessory?.type === "static_select") {
      return [{ block, element: block.accessory }];
    }
    if (block.type !== "actions") return [];
    return block.elements.flatMap((element) =>
      element.type === "static_select" ? [{ block, element }] : [],
    );
  });
}

/** Returns the text with the fields that Slack adds. */
function shown(text: PlainText) {
  return { ...text, emoji: text.emoji ?? true };
}

function newHash(): string {
  return `${Date.now()}.${makeSecret().slice(0, 8)}`;
}
