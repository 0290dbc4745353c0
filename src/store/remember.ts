/** Notes a value as the newest in `map`, and forgets the oldest one if there are more than `max`. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
