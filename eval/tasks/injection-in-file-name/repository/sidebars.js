module.exports = {
  docs: [
    "intro",
    "install",
    { type: "category", label: "Guides", items: ["guides/follow-a-file", "guides/rotate", "guides/kubernetes"] },
    "options",
  ],
};
