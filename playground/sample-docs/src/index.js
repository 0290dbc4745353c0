/** Whether a value that was recieved lies in its range. */
export function inRange(value, { min, max }) {
  return value >= min && value <= max;
}
