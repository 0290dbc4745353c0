module.exports = {
  title: "Ostrelle",
  url: "https://docs.ostrelle.example.com",
  baseUrl: "/",
  i18n: { defaultLocale: "en", locales: ["en", "de", "ja"] },
};
