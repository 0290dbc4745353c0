/** Counts changes that the page shows, and wakes everyone who waits for one. */
export class Changes {
  #version = 0;
  #isClosed = false;
  #waiting = new Set<() => void>();

  get version(): number {
    return this.#version;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  bump(): void {
    this.#version += 1;
    this.#wake();
  }

  /**
   * Resolves at the next change, when `signal` aborts, after `timeoutMs`, or at once when closed.
   */
  async next(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    signal.addEventListener("abort", () => resolve(), { once: true });
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
