module.exports = { docs: ["index", "colours", "fonts", "reference/settings"] };
