import AppStoreSimulator
import Primitives

/// The products of `FigureLife`, with periods from a week to a year, and with all kinds of offers.
enum FigureCatalogue {
    static let subscriptions = [
        "plus.yearly", "plus.monthly", "basic.monthly", "basic.weekly", "news.half", "news.quarterly", "news.two",
    ]
    static let promotional = [
        ("plus.yearly", "yearly.half"), ("plus.monthly", "monthly.free"), ("basic.monthly", "basic.three"),
    ]
    static let winBack = [
        ("plus.yearly", "yearly.back"), ("plus.monthly", "monthly.back"), ("basic.weekly", "weekly.back"),
    ]
    static let codes = [("plus.monthly", "monthly.code"), ("basic.monthly", "basic.code")]
    static let countries = ["USA", "DEU", "JPN", "GBR", "FRA"]

    static func make() throws -> Catalogue { try Catalogue(parsing: Array(text.utf8), file: "lives.storekit") }

    static let text = #"""
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "14.99", "familyShareable": true}],
         "nonRenewingSubscriptions": [
           {"productID": "season", "type": "NonRenewingSubscription", "displayPrice": "24.99"}],
         "subscriptionGroups": [
           {"id": "plus", "name": "Plus", "subscriptions": [
             {"productID": "plus.yearly", "groupNumber": 1, "displayPrice": "59.99",
              "recurringSubscriptionPeriod": "P1Y",
              "billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "5.49"}],
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P2W"},
              "adHocOffers": [{"offerID": "yearly.half", "paymentMode": "payUpFront", "subscriptionPeriod": "P1Y",
                "numberOfPeriods": 1, "displayPrice": "29.99"}],
              "winbackOffers": [{"offerID": "yearly.back", "paymentMode": "payUpFront", "subscriptionPeriod": "P1Y",
                "numberOfPeriods": 1, "displayPrice": "39.99"}]},
             {"productID": "plus.monthly", "groupNumber": 1, "displayPrice": "9.99", "familyShareable": true,
              "recurringSubscriptionPeriod": "P1M",
              "introductoryOffer": {"paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                "displayPrice": "4.99"},
              "adHocOffers": [{"offerID": "monthly.free", "paymentMode": "free", "subscriptionPeriod": "P1M"}],
              "codeOffers": [{"offerID": "monthly.code", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M",
                "numberOfPeriods": 2, "displayPrice": "1.99"}],
              "winbackOffers": [{"offerID": "monthly.back", "paymentMode": "free", "subscriptionPeriod": "P1W"}]},
             {"productID": "basic.monthly", "groupNumber": 2, "displayPrice": "4.99",
              "recurringSubscriptionPeriod": "P1M",
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
              "adHocOffers": [{"offerID": "basic.three", "paymentMode": "payUpFront", "subscriptionPeriod": "P3M",
                "numberOfPeriods": 1, "displayPrice": "9.49"}],
              "codeOffers": [{"offerID": "basic.code", "paymentMode": "free", "subscriptionPeriod": "P1M",
                "isStackable": false}]},
             {"productID": "basic.weekly", "groupNumber": 3, "displayPrice": "1.49",
              "recurringSubscriptionPeriod": "P1W",
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P3D"},
              "winbackOffers": [{"offerID": "weekly.back", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1W",
                "numberOfPeriods": 4, "displayPrice": "0.49"}]}]},
           {"id": "news", "name": "News", "subscriptions": [
             {"productID": "news.half", "groupNumber": 1, "displayPrice": "19.99",
              "recurringSubscriptionPeriod": "P6M",
              "introductoryOffer": {"paymentMode": "payUpFront", "subscriptionPeriod": "P2M", "numberOfPeriods": 1,
                "displayPrice": "3.99"}},
             {"productID": "news.quarterly", "groupNumber": 1, "displayPrice": "12.99",
              "recurringSubscriptionPeriod": "P3M"},
             {"productID": "news.two", "groupNumber": 2, "displayPrice": "7.49",
              "recurringSubscriptionPeriod": "P2M"}]}]}
        """#
}
