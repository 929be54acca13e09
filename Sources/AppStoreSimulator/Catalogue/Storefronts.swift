import StoreModel

/// The countries of the App Store: the number of each storefront, the currency of its prices, and the locale for a
/// catalogue that names none.
package enum Storefronts {
    package static let usa = Storefront(countryCode: "USA", id: "143441", locale: "en_US", currency: "USD")

    /// Returns the storefront of an ISO 3166-1 alpha-3 code in capitals; `nil` for an unknown country.
    package static func storefront(_ countryCode: String, locale: String? = nil) -> Storefront? {
        guard let row = rows[countryCode] else { return nil }
        return Storefront(
            countryCode: countryCode, id: "\(row.id)", locale: locale ?? row.locale, currency: row.currency)
    }

    private static let rows: [String: (id: Int, currency: String, locale: String)] = [
        "AGO": (143564, "USD", "pt_AO"), "AIA": (143538, "USD", "en_AI"), "ALB": (143575, "USD", "sq_AL"),
        "ARE": (143481, "AED", "en_AE"), "ARG": (143505, "USD", "es_AR"), "ARM": (143524, "USD", "hy_AM"),
        "ATG": (143540, "USD", "en_AG"), "AUS": (143460, "AUD", "en_AU"), "AUT": (143445, "EUR", "de_AT"),
        "AZE": (143568, "USD", "az_AZ"), "BEL": (143446, "EUR", "nl_BE"), "BEN": (143576, "USD", "fr_BJ"),
        "BFA": (143578, "USD", "fr_BF"), "BGR": (143526, "EUR", "bg_BG"), "BHR": (143559, "USD", "ar_BH"),
        "BHS": (143539, "USD", "en_BS"), "BLR": (143565, "USD", "be_BY"), "BLZ": (143555, "USD", "en_BZ"),
        "BMU": (143542, "USD", "en_BM"), "BOL": (143556, "USD", "es_BO"), "BRA": (143503, "BRL", "pt_BR"),
        "BRB": (143541, "USD", "en_BB"), "BRN": (143560, "USD", "en_BN"), "BTN": (143577, "USD", "en_BT"),
        "BWA": (143525, "USD", "en_BW"), "CAN": (143455, "CAD", "en_CA"), "CHE": (143459, "CHF", "de_CH"),
        "CHL": (143483, "CLP", "es_CL"), "CHN": (143465, "CNY", "zh_CN"), "COG": (143582, "USD", "fr_CG"),
        "COL": (143501, "COP", "es_CO"), "CPV": (143580, "USD", "pt_CV"), "CRI": (143495, "USD", "es_CR"),
        "CYM": (143544, "USD", "en_KY"), "CYP": (143557, "EUR", "el_CY"), "CZE": (143489, "CZK", "cs_CZ"),
        "DEU": (143443, "EUR", "de_DE"), "DMA": (143545, "USD", "en_DM"), "DNK": (143458, "DKK", "da_DK"),
        "DOM": (143508, "USD", "es_DO"), "DZA": (143563, "USD", "ar_DZ"), "ECU": (143509, "USD", "es_EC"),
        "EGY": (143516, "EGP", "en_EG"), "ESP": (143454, "EUR", "es_ES"), "EST": (143518, "EUR", "et_EE"),
        "FIN": (143447, "EUR", "fi_FI"), "FJI": (143583, "USD", "en_FJ"), "FRA": (143442, "EUR", "fr_FR"),
        "FSM": (143591, "USD", "en_FM"), "GBR": (143444, "GBP", "en_GB"), "GHA": (143573, "USD", "en_GH"),
        "GMB": (143584, "USD", "en_GM"), "GNB": (143585, "USD", "pt_GW"), "GRC": (143448, "EUR", "el_GR"),
        "GRD": (143546, "USD", "en_GD"), "GTM": (143504, "USD", "es_GT"), "GUY": (143553, "USD", "en_GY"),
        "HKG": (143463, "HKD", "zh_HK"), "HND": (143510, "USD", "es_HN"), "HRV": (143494, "EUR", "hr_HR"),
        "HUN": (143482, "HUF", "hu_HU"), "IDN": (143476, "IDR", "id_ID"), "IND": (143467, "INR", "en_IN"),
        "IRL": (143449, "EUR", "en_IE"), "ISL": (143558, "USD", "is_IS"), "ISR": (143491, "ILS", "he_IL"),
        "ITA": (143450, "EUR", "it_IT"), "JAM": (143511, "USD", "en_JM"), "JOR": (143528, "USD", "ar_JO"),
        "JPN": (143462, "JPY", "ja_JP"), "KAZ": (143517, "KZT", "ru_KZ"), "KEN": (143529, "USD", "en_KE"),
        "KGZ": (143586, "USD", "ky_KG"), "KHM": (143579, "USD", "km_KH"), "KNA": (143548, "USD", "en_KN"),
        "KOR": (143466, "KRW", "ko_KR"), "KWT": (143493, "USD", "en_KW"), "LAO": (143587, "USD", "lo_LA"),
        "LBN": (143497, "USD", "en_LB"), "LBR": (143588, "USD", "en_LR"), "LCA": (143549, "USD", "en_LC"),
        "LKA": (143486, "USD", "en_LK"), "LTU": (143520, "EUR", "lt_LT"), "LUX": (143451, "EUR", "fr_LU"),
        "LVA": (143519, "EUR", "lv_LV"), "MAC": (143515, "USD", "zh_MO"), "MDA": (143523, "USD", "ro_MD"),
        "MDG": (143531, "USD", "fr_MG"), "MEX": (143468, "MXN", "es_MX"), "MKD": (143530, "USD", "mk_MK"),
        "MLI": (143532, "USD", "fr_ML"), "MLT": (143521, "EUR", "en_MT"), "MNG": (143592, "USD", "mn_MN"),
        "MOZ": (143593, "USD", "pt_MZ"), "MRT": (143590, "USD", "ar_MR"), "MSR": (143547, "USD", "en_MS"),
        "MUS": (143533, "USD", "en_MU"), "MWI": (143589, "USD", "en_MW"), "MYS": (143473, "MYR", "en_MY"),
        "NAM": (143594, "USD", "en_NA"), "NER": (143534, "USD", "fr_NE"), "NGA": (143561, "NGN", "en_NG"),
        "NIC": (143512, "USD", "es_NI"), "NLD": (143452, "EUR", "nl_NL"), "NOR": (143457, "NOK", "nb_NO"),
        "NPL": (143484, "USD", "ne_NP"), "NZL": (143461, "NZD", "en_NZ"), "OMN": (143562, "USD", "ar_OM"),
        "PAK": (143477, "PKR", "en_PK"), "PAN": (143485, "USD", "es_PA"), "PER": (143507, "PEN", "es_PE"),
        "PHL": (143474, "PHP", "en_PH"), "PLW": (143595, "USD", "en_PW"), "PNG": (143597, "USD", "en_PG"),
        "POL": (143478, "PLN", "pl_PL"), "PRT": (143453, "EUR", "pt_PT"), "PRY": (143513, "USD", "es_PY"),
        "QAT": (143498, "QAR", "en_QA"), "ROU": (143487, "RON", "ro_RO"), "RUS": (143469, "RUB", "ru_RU"),
        "SAU": (143479, "SAR", "ar_SA"), "SEN": (143535, "USD", "fr_SN"), "SGP": (143464, "SGD", "en_SG"),
        "SLB": (143601, "USD", "en_SB"), "SLE": (143600, "USD", "en_SL"), "SLV": (143506, "USD", "es_SV"),
        "STP": (143598, "USD", "pt_ST"), "SUR": (143554, "USD", "nl_SR"), "SVK": (143496, "EUR", "sk_SK"),
        "SVN": (143499, "EUR", "sl_SI"), "SWE": (143456, "SEK", "sv_SE"), "SWZ": (143602, "USD", "en_SZ"),
        "SYC": (143599, "USD", "en_SC"), "TCA": (143552, "USD", "en_TC"), "TCD": (143581, "USD", "fr_TD"),
        "THA": (143475, "THB", "th_TH"), "TJK": (143603, "USD", "tg_TJ"), "TKM": (143604, "USD", "tk_TM"),
        "TTO": (143551, "USD", "en_TT"), "TUN": (143536, "USD", "ar_TN"), "TUR": (143480, "TRY", "tr_TR"),
        "TWN": (143470, "TWD", "zh_TW"), "TZA": (143572, "TZS", "sw_TZ"), "UGA": (143537, "USD", "en_UG"),
        "UKR": (143492, "USD", "uk_UA"), "URY": (143514, "USD", "es_UY"), "USA": (143441, "USD", "en_US"),
        "UZB": (143566, "USD", "uz_UZ"), "VCT": (143550, "USD", "en_VC"), "VEN": (143502, "USD", "es_VE"),
        "VGB": (143543, "USD", "en_VG"), "VNM": (143471, "VND", "vi_VN"), "YEM": (143571, "USD", "ar_YE"),
        "ZAF": (143472, "ZAR", "en_ZA"), "ZWE": (143605, "USD", "en_ZW"),
    ]
}
