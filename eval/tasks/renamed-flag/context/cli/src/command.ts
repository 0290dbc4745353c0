/** The name on the command line: `targetDir` is typed as `--target-dir`. */
export function longName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** What is printed for a name from `deprecatedAliases`. */
export function aliasWarning(alias: string, key: string): string {
  return `warning: ${longName(alias)} is deprecated, use ${longName(key)}`;
}
