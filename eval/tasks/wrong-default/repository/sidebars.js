module.exports = {
  manual: [
    "intro",
    "configuration",
    { type: "category", label: "Guides", items: ["guides/slow-endpoints", "guides/retries"] },
    "troubleshooting",
  ],
};
