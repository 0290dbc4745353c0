/** The checks that settings can name without a command of their own. */
export const CHECK_PRESET_NAMES = ["markdownlint", "links", "docusaurus", "mkdocs", "mint", "vale"] as const;
export type CheckPresetName = (typeof CHECK_PRESET_NAMES)[number];
