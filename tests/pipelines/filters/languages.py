"""A sentence in each of some languages."""

SENTENCES = {
    "en": "A man in a red jacket rides his bicycle along the river on a sunny morning in spring.",
    "de": "Ein Mann in einer roten Jacke fährt an einem sonnigen Morgen mit dem Fahrrad am Fluss.",
    "fr": "Un homme en veste rouge fait du vélo le long de la rivière par un matin ensoleillé.",
    "es": "Un hombre con chaqueta roja monta en bicicleta junto al río una mañana soleada.",
    "nl": "Een man in een rode jas fietst op een zonnige ochtend in de lente langs de rivier.",
    "cs": "Muž v červené bundě jede za slunečného rána na kole podél řeky a dívá se na vodu.",
    "el": "Ένας άντρας με κόκκινο μπουφάν κάνει ποδήλατο δίπλα στο ποτάμι ένα ηλιόλουστο πρωί.",
    "ru": "Мужчина в красной куртке едет на велосипеде вдоль реки солнечным весенним утром.",
    "uk": "Чоловік їде на велосипеді вздовж річки сонячного весняного ранку.",
    "he": "גבר במעיל אדום רוכב על אופניים לאורך הנהר בבוקר אביבי שטוף שמש.",
    "zh": "一个穿红色夹克的男人在阳光明媚的早晨沿着河边骑自行车。",
    "ja": "赤いジャケットを着た男性が、晴れた春の朝に川沿いを自転車で走っています。",
}
