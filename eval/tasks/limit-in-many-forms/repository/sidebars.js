export default {
  docs: [
    "start",
    "limits",
    { type: "category", label: "Guides", items: ["guides/many", "guides/retry"] },
    "reference/messages",
    "reference/errors",
    "faq",
    "changelog",
  ],
};
