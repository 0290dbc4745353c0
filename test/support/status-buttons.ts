/** What a message says, without the line of buttons that stands below a status as long as it can be stopped. */
export function withoutStop(visible: string): string {
  return visible.replace(/\n(\[Stop\]|\[⋯\])[^\n]*$/, "");
}
