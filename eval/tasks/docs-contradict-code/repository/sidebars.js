module.exports = {
  docs: [
    "welcome",
    "pipelines",
    { type: "category", label: "Reference", items: ["reference/limits", "reference/storage"] },
    "faq",
  ],
};
