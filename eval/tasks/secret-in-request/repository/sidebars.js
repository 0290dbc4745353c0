export default {
  docs: [
    "intro",
    "tokens",
    { type: "category", label: "Send logs", items: ["send/curl", "send/shipper"] },
    "reference",
    "errors",
    "changelog",
  ],
};
