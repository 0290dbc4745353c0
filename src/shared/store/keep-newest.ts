/** Notes an entry as the newest one. Of more than `max`, the oldest is forgotten. */
export function keepNewest<T>(known: Map<string, T>, key: string, value: T, max: number): void {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > max && oldest !== undefined) known.delete(oldest);
}
