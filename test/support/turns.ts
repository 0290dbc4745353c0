/** Waits for one round of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Lets everything happen that needs neither time nor input, in a few rounds of the event loop. */
export async function turns(count = 6): Promise<void> {
  for (let n = 0; n < count; n += 1) await turn();
}
