export default {
  docs: ["intro", "whitelist", "filters", "cli", "sync", "faq", "changelog"],
};
