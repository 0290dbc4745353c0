module.exports = {
  title: "Clatterbank",
  url: "https://docs.clatterbank.example.com",
  baseUrl: "/",
  onBrokenLinks: "throw",
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: "./sidebars.js" } }]],
};
