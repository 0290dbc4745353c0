import { Line } from "./line.js";
import { SablelineError } from "./errors.js";

/**
 * Opens a project.
 * @param {{ project: string, key: string }} options
 * @returns {Promise<Line>}
 */
export async function connect({ project, key }) {
  if (!key) throw new SablelineError("denied", "There is no key.");
  const line = new Line(project, key);
  await line.hello();
  return line;
}
