const IS_NIGHT = process.env["TEST_NIGHTLY"] === "1";

/**
 * Chooses the cases of a test that has many: `few` of them by day, and `all` in
 * `npm run test:nightly`, which finds the files that import this.
 */
export function atNight<const T>(all: readonly T[], few: readonly T[]): readonly T[] {
  return IS_NIGHT ? all : few;
}
