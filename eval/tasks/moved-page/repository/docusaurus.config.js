// @ts-check

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: "Ferrybell",
  tagline: "Announcements for small stations",
  url: "https://manual.ferrybell.example.com",
  baseUrl: "/",
  onBrokenLinks: "throw",
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: "./sidebars.js" } }]],
  plugins: [
    [
      "@docusaurus/plugin-client-redirects",
      {
        redirects: [
          { from: "/start", to: "/" },
          { from: "/timetable-feed", to: "/guides/timetable-feed" },
          { from: "/guides/loudspeakers", to: "/guides/sound" },
        ],
      },
    ],
  ],
};

export default config;
