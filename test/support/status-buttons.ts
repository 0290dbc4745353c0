/**
 * Returns a message without the line of buttons that a status shows while its turn can be stopped.
 */
export function withoutStop(visible: string): string {
  return visible.replace(/\n(\[Stop\]|\[⋯\])[^\n]*$/, "");
}
