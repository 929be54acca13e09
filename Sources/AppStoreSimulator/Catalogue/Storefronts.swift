import StoreModel

/// The countries in which the App Store sells: Apple's number of each storefront, the currency of its prices and the
/// locale in which it writes when a catalogue names none.
public enum Storefronts {
    public static let usa = Storefront(countryCode: "USA", id: "143441", locale: "en_US", currency: "USD")

    /// The storefront of an ISO 3166-1 alpha-3 code in capitals; `nil` for a country that is not in the table.
    public static func storefront(_ countryCode: String, locale: String? = nil) -> Storefront? {
        guard let row = rows[countryCode] else { return nil }
        return Storefront(
            countryCode: countryCode, id: "\(row.id)", locale: locale ?? row.locale, currency: row.currency)
    }

    private static let rows: [String: (id: Int, currency: String, locale: String)] = [
        "ARE": (143481, "AED", "en_AE"), "ARG": (143505, "USD", "es_AR"), "AUS": (143460, "AUD", "en_AU"),
        "AUT": (143445, "EUR", "de_AT"), "BEL": (143446, "EUR", "nl_BE"), "BGR": (143526, "EUR", "bg_BG"),
        "BRA": (143503, "BRL", "pt_BR"), "CAN": (143455, "CAD", "en_CA"), "CHE": (143459, "CHF", "de_CH"),
        "CHL": (143483, "CLP", "es_CL"), "CHN": (143465, "CNY", "zh_CN"), "COL": (143501, "COP", "es_CO"),
        "CRI": (143495, "USD", "es_CR"), "CYP": (143557, "EUR", "el_CY"), "CZE": (143489, "CZK", "cs_CZ"),
        "DEU": (143443, "EUR", "de_DE"), "DNK": (143458, "DKK", "da_DK"), "DOM": (143508, "USD", "es_DO"),
        "ECU": (143509, "USD", "es_EC"), "EGY": (143516, "EGP", "en_EG"), "ESP": (143454, "EUR", "es_ES"),
        "EST": (143518, "EUR", "et_EE"), "FIN": (143447, "EUR", "fi_FI"), "FRA": (143442, "EUR", "fr_FR"),
        "GBR": (143444, "GBP", "en_GB"), "GRC": (143448, "EUR", "el_GR"), "GTM": (143504, "USD", "es_GT"),
        "HKG": (143463, "HKD", "zh_HK"), "HRV": (143494, "EUR", "hr_HR"), "HUN": (143482, "HUF", "hu_HU"),
        "IDN": (143476, "IDR", "id_ID"), "IND": (143467, "INR", "en_IN"), "IRL": (143449, "EUR", "en_IE"),
        "ISL": (143558, "USD", "is_IS"), "ISR": (143491, "ILS", "he_IL"), "ITA": (143450, "EUR", "it_IT"),
        "JPN": (143462, "JPY", "ja_JP"), "KAZ": (143517, "KZT", "ru_KZ"), "KOR": (143466, "KRW", "ko_KR"),
        "KWT": (143493, "USD", "en_KW"), "LBN": (143497, "USD", "en_LB"), "LKA": (143486, "USD", "en_LK"),
        "LTU": (143520, "EUR", "lt_LT"), "LUX": (143451, "EUR", "fr_LU"), "LVA": (143519, "EUR", "lv_LV"),
        "MAC": (143515, "USD", "zh_MO"), "MEX": (143468, "MXN", "es_MX"), "MLT": (143521, "EUR", "en_MT"),
        "MYS": (143473, "MYR", "en_MY"), "NLD": (143452, "EUR", "nl_NL"), "NOR": (143457, "NOK", "nb_NO"),
        "NZL": (143461, "NZD", "en_NZ"), "PAK": (143477, "PKR", "en_PK"), "PAN": (143485, "USD", "es_PA"),
        "PER": (143507, "PEN", "es_PE"), "PHL": (143474, "PHP", "en_PH"), "POL": (143478, "PLN", "pl_PL"),
        "PRT": (143453, "EUR", "pt_PT"), "PRY": (143513, "USD", "es_PY"), "QAT": (143498, "QAR", "en_QA"),
        "ROU": (143487, "RON", "ro_RO"), "RUS": (143469, "RUB", "ru_RU"), "SAU": (143479, "SAR", "ar_SA"),
        "SGP": (143464, "SGD", "en_SG"), "SLV": (143506, "USD", "es_SV"), "SVK": (143496, "EUR", "sk_SK"),
        "SVN": (143499, "EUR", "sl_SI"), "SWE": (143456, "SEK", "sv_SE"), "THA": (143475, "THB", "th_TH"),
        "TUR": (143480, "TRY", "tr_TR"), "TWN": (143470, "TWD", "zh_TW"), "UKR": (143492, "USD", "uk_UA"),
        "URY": (143514, "USD", "es_UY"), "USA": (143441, "USD", "en_US"), "VEN": (143502, "USD", "es_VE"),
        "VNM": (143471, "VND", "vi_VN"), "ZAF": (143472, "ZAR", "en_ZA"),
    ]
}
