// @ts-check

/** @type {import('@docusaurus/plugin-content-docs').SidebarsConfig} */
const sidebars = {
  manual: [
    "index",
    {
      type: "category",
      label: "Guides",
      items: ["guides/voices", "guides/timetable-feed", "guides/sound"],
    },
    {
      type: "category",
      label: "Integrations",
      items: ["integrations/displays", "integrations/radio"],
    },
    "troubleshooting",
  ],
};

export default sidebars;
