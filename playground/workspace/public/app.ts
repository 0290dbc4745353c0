import type { ActResult, PageAct, PageMessage, PageState } from "../page-protocol.ts";
import type { ShownNames } from "./text-view.ts";

/** The feed in which a message stands. */
export type Feed = "main" | "thread";

/** The operations that the parts of the page share. */
export interface PageApp {
  readonly names: ShownNames;
  /** Changes when unchanged messages must nevertheless be drawn again. */
  signature(): unknown;
  /** The last answer of `/api/state`. Throws before there is one. */
  state(): PageState;
  /** The channel on the screen, or an empty text. */
  channelId(): string;
  isBot(userId: string): boolean;
  authorOf(message: Pick<PageMessage, "user" | "isTombstone">): string;
  /** Resolves once the page shows the present state. */
  refresh(): Promise<void>;
  /** Performs an act as the person of this tab, and shows what went wrong. */
  act(act: PageAct, options?: { isQuiet?: boolean }): Promise<ActResult & { isDone: boolean }>;
  /** Sends the text. Resolves to true if it was sent. */
  compose(text: string, file: File | null, threadTs?: string): Promise<boolean>;
  /** Resolves once the channel is on the screen. */
  goTo(channelId: string, threadTs?: string): Promise<void>;
  openAppMessages(): void;
  openThread(ts: string): void;
  closePane(): void;
  toggleWeather(): void;
  toggleSidebar(): void;
  become(userId: string): void;
  /** Goes to a channel and puts this text into its message field. */
  suggest(channelId: string, text: string): void;
  /** Shows or hides the card for newcomers. */
  toggleTour(): void;
  focusComposer(threadTs: string | null): void;
  openMessageMenu(button: HTMLElement, message: PageMessage, feed: Feed): void;
}
