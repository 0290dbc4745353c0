import type { FromRunner, News } from "./messages.ts";

const REPORT_EVERY_MS = 200;
/** As many as the service keeps. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;

/**
 * Tells the service of a run, at most once in a while and with one report on its way: an agent that floods us with updates gets no more of the
 * service than any other.
 */
export class Reporter {
  readonly #run: number;
  readonly #tell: (message: FromRunner) => Promise<void>;
  #news: News = {};
  #timer: NodeJS.Timeout | null = null;
  #isTelling = false;

  constructor(run: number, tell: (message: FromRunner) => Promise<void>) {
    this.#run = run;
    this.#tell = tell;
  }

  line(text: string): void {
    const lines = [...(this.#news.lines ?? []), text.slice(0, MAX_LINE_CHARS)];
    this.add({ lines: lines.slice(-MAX_LINES) });
  }

  add(news: News): void {
    this.#news = { ...this.#news, ...news };
    if (!this.#isTelling) this.#timer ??= setTimeout(() => this.flush(), REPORT_EVERY_MS);
  }

  /** Tells now what there is to tell. */
  flush(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    if (Object.keys(this.#news).length === 0) return;
    const news = this.#news;
    this.#news = {};
    this.#isTelling = true;
    void this.#tell({ kind: "report", run: this.#run, news }).then(() => {
      this.#isTelling = false;
      if (Object.keys(this.#news).length > 0) this.add({});
    });
  }
}
