module.exports = {
  docs: [
    "intro",
    "brokers",
    {
      type: "category",
      label: "Commands",
      link: { type: "doc", id: "commands/index" },
      items: ["commands/pause", "commands/purge", "commands/resume"],
    },
  ],
};
