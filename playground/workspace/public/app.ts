import type { ActResult, PageAct, PageMessage, PageState } from "../page-protocol.ts";
import type { ShownNames } from "./text-view.ts";

/** Which feed a message stands in. */
export type Feed = "main" | "thread";

/** What the parts of the page share. */
export interface PageApp {
  readonly names: ShownNames;
  /** Changes when messages must be drawn anew although they are the same. */
  signature(): unknown;
  /** The last answer of `/api/state`. Throws before there is one. */
  state(): PageState;
  /** The channel on the screen; empty where there is none. */
  channelId(): string;
  isBot(userId: string): boolean;
  authorOf(message: Pick<PageMessage, "user" | "isTombstone">): string;
  /** Resolves when the page shows the present state. */
  refresh(): Promise<void>;
  /** Does it as whoever this tab is, and tells what went wrong. */
  act(act: PageAct, options?: { isQuiet?: boolean }): Promise<ActResult & { isDone: boolean }>;
  /** Sends what was typed; resolves to whether it went out. */
  compose(text: string, file: File | null, threadTs?: string): Promise<boolean>;
  /** Resolves when it is on the screen. */
  goTo(channelId: string, threadTs?: string): Promise<void>;
  openAppMessages(): void;
  openThread(ts: string): void;
  closePane(): void;
  toggleWeather(): void;
  toggleSidebar(): void;
  become(userId: string): void;
  /** Goes to a channel and puts this in its message field. */
  suggest(channelId: string, text: string): void;
  /** Shows what this is and what to try, or no longer. */
  toggleTour(): void;
  focusComposer(threadTs: string | null): void;
  openMessageMenu(button: HTMLElement, message: PageMessage, feed: Feed): void;
}
