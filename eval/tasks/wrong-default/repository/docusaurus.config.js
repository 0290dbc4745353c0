module.exports = {
  title: "Perchline",
  url: "https://perchline.example.com",
  baseUrl: "/",
  onBrokenLinks: "throw",
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: "./sidebars.js" } }]],
};
