module.exports = { title: "Brackenfold", presets: [["classic", { docs: { lastVersion: "2.0" } }]] };
