/**
 * What looks like a credential wherever it comes from: the prefixes that the issuers document, and
 * keys. All are global.
 */
export const CREDENTIAL_SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // Newer tokens of Apps: the App's id, and a signed part.
  /\bghs_[\w-]{4,}(?:\.[\w-]{4,}){2}/g,
  /\bgh[pousr]_[A-Za-z0-9]{16,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bsk-[A-Za-z0-9_-]{20,}/g,
  /\bmint_[A-Za-z0-9]{16,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  // Digits and letters alone: `npm_config_user_agent` is the name of a variable.
  /\b(?:npm|hf)_[A-Za-z0-9]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
  /(?<=\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~-]{16,}={0,2}/gi,
];
