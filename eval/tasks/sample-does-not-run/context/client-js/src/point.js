/**
 * One measurement.
 * @param {Date} time
 * @param {number} value
 * @param {Record<string, string>} [tags]
 */
export function at(time, value, tags = {}) {
  return { time: time.toISOString(), value, tags };
}
