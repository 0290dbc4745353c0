export default {
  handbook: ["backup", "restore", "drill", "trouble", "copperctl", "history"],
};
