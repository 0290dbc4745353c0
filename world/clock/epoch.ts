/**
 * Returns epoch milliseconds with fractions. They are comparable between the processes of one
 * machine.
 */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
