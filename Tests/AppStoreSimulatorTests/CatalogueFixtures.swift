import Primitives

@testable import AppStoreSimulator

/// A small catalogue for each version of the format, with the fields that are new in the version. It is written as
/// Xcode writes it.
enum CatalogueFixtures {
    static func catalogue(_ text: String) throws -> Catalogue {
        try Catalogue(parsing: Array(text.utf8), file: "test.storekit")
    }

    static func findings(_ text: String) -> [CatalogueFinding] {
        Catalogue.lint(Array(text.utf8), file: "test.storekit")
    }

    static let byVersion: [(version: String, text: String)] = [
        ("1.0", version1), ("1.2", version12), ("2.0", version2), ("3.0", version3), ("4.0", version4),
        ("5.0", version5),
    ]

    /// Products and groups only.
    static let version1 = """
        {
          "products" : [
            {
              "displayPrice" : "1.99",
              "familyShareable" : false,
              "internalID" : "A1B2C3D4",
              "localizations" : [
                {
                  "description" : "Ten rolls",
                  "displayName" : "Rolls",
                  "locale" : "en_GB"
                }
              ],
              "productID" : "rolls",
              "referenceName" : "Rolls",
              "type" : "Consumable"
            }
          ],
          "settings" : {

          },
          "subscriptionGroups" : [
            {
              "id" : "11AA22BB",
              "localizations" : [

              ],
              "name" : "Club",
              "subscriptions" : [
                {
                  "adHocOffers" : [

                  ],
                  "displayPrice" : "2.99",
                  "familyShareable" : true,
                  "groupNumber" : 1,
                  "internalID" : "33CC44DD",
                  "introductoryOffer" : {
                    "internalID" : "55EE66FF",
                    "paymentMode" : "free",
                    "subscriptionPeriod" : "P1W"
                  },
                  "localizations" : [

                  ],
                  "productID" : "club.monthly",
                  "recurringSubscriptionPeriod" : "P1M",
                  "referenceName" : "Club Monthly",
                  "subscriptionGroupID" : "11AA22BB",
                  "type" : "RecurringSubscription"
                }
              ]
            }
          ],
          "version" : {
            "major" : 1,
            "minor" : 0
          }
        }

        """

    /// An identifier, non-renewing subscriptions and offer codes.
    static let version12 = """
        {
          "identifier" : "0C0FFEE0",
          "nonRenewingSubscriptions" : [
            {
              "displayPrice" : "4.50",
              "familyShareable" : false,
              "internalID" : "77AA88BB",
              "localizations" : [

              ],
              "productID" : "season",
              "referenceName" : null,
              "type" : "NonRenewingSubscription"
            }
          ],
          "products" : [

          ],
          "settings" : {
            "_timeRate" : 6
          },
          "subscriptionGroups" : [
            {
              "id" : "G12",
              "localizations" : [

              ],
              "name" : "Club",
              "subscriptions" : [
                {
                  "adHocOffers" : [

                  ],
                  "codeOffers" : [
                    {
                      "eligibility" : [
                        "existing",
                        "expired"
                      ],
                      "internalID" : "99CC00DD",
                      "isStackable" : false,
                      "paymentMode" : "free",
                      "referenceName" : "spring",
                      "subscriptionPeriod" : "P1M"
                    }
                  ],
                  "displayPrice" : "2.99",
                  "familyShareable" : false,
                  "groupNumber" : 1,
                  "internalID" : "S12",
                  "introductoryOffer" : null,
                  "localizations" : [

                  ],
                  "productID" : "club.monthly",
                  "recurringSubscriptionPeriod" : "P1M",
                  "referenceName" : "Club Monthly",
                  "subscriptionGroupID" : "G12",
                  "type" : "RecurringSubscription"
                }
              ]
            }
          ],
          "version" : {
            "major" : 1,
            "minor" : 2
          }
        }

        """

    /// The switches of Xcode's menu, fields from App Store Connect, and a key for promotional offers.
    static let version2 = """
        {
          "identifier" : "2B2B2B2B",
          "nonRenewingSubscriptions" : [

          ],
          "products" : [
            {
              "displayPrice" : "12",
              "familyShareable" : true,
              "internalID" : "1500000001",
              "localizations" : [
                {
                  "description" : "Für immer",
                  "displayName" : "Alles",
                  "locale" : "de"
                }
              ],
              "productID" : "everything",
              "referenceName" : "Everything",
              "type" : "NonConsumable"
            }
          ],
          "settings" : {
            "_applicationInternalID" : "1500000000",
            "_askToBuyEnabled" : true,
            "_billingGracePeriodEnabled" : true,
            "_billingIssuesEnabled" : true,
            "_compatibilityTimeRate" : {
              "3" : 6
            },
            "_developerTeamID" : "ABCDE12345",
            "_disableDialogs" : true,
            "_failTransactionsEnabled" : true,
            "_lastSynchronizedDate" : 654321987.10299996,
            "_locale" : "de_DE",
            "_renewalBillingIssuesEnabled" : true,
            "_storefront" : "DEU",
            "_storeKitError" : 12,
            "_timeRate" : 15
          },
          "subscriptionGroups" : [

          ],
          "subscriptionOffersKeyPair" : {
            "id" : "0FFE12AB",
            "privateKey" : "not a key"
          },
          "version" : {
            "major" : 2,
            "minor" : 0
          }
        }

        """

    /// Errors by API, and an offer of every payment mode.
    static let version3 = """
        {
          "identifier" : "3C3C3C3C",
          "nonRenewingSubscriptions" : [

          ],
          "products" : [

          ],
          "settings" : {
            "_failTransactionsEnabled" : false,
            "_storefront" : "JPN",
            "_storeKitErrors" : [
              {
                "current" : {
                  "index" : 2,
                  "type" : "generic"
                },
                "enabled" : true,
                "name" : "Load Products"
              },
              {
                "current" : null,
                "enabled" : false,
                "name" : "Purchase"
              }
            ],
            "_timeRate" : 1003
          },
          "subscriptionGroups" : [
            {
              "id" : "33G",
              "localizations" : [
                {
                  "description" : "",
                  "displayName" : "クラブ",
                  "locale" : "ja"
                }
              ],
              "name" : "Club",
              "subscriptions" : [
                {
                  "adHocOffers" : [
                    {
                      "displayPrice" : "500",
                      "internalID" : "33A",
                      "numberOfPeriods" : 3,
                      "offerID" : "three",
                      "paymentMode" : "payAsYouGo",
                      "referenceName" : "Three cheap months",
                      "subscriptionPeriod" : "P1M"
                    }
                  ],
                  "codeOffers" : [

                  ],
                  "displayPrice" : "980",
                  "familyShareable" : false,
                  "groupNumber" : 2,
                  "internalID" : "33S",
                  "introductoryOffer" : {
                    "displayPrice" : "1200",
                    "internalID" : "33I",
                    "paymentMode" : "payUpFront",
                    "subscriptionPeriod" : "P2M"
                  },
                  "localizations" : [

                  ],
                  "productID" : "club.monthly",
                  "recurringSubscriptionPeriod" : "P1M",
                  "referenceName" : "Club Monthly",
                  "subscriptionGroupID" : "33G",
                  "type" : "RecurringSubscription"
                }
              ]
            }
          ],
          "version" : {
            "major" : 3,
            "minor" : 0
          }
        }

        """

    /// Policies and win-back offers.
    static let version4 = """
        {
          "appPolicies" : {
            "eula" : "Be kind.",
            "policies" : [
              {
                "locale" : "en_US",
                "policyText" : "We keep nothing.",
                "policyURL" : "https://example.com/privacy"
              }
            ]
          },
          "identifier" : "4D4D4D4D",
          "nonRenewingSubscriptions" : [

          ],
          "products" : [

          ],
          "settings" : {
            "_locale" : "en_US",
            "_storefront" : "USA"
          },
          "subscriptionGroups" : [
            {
              "id" : "44G",
              "localizations" : [
                {
                  "description" : "All of it",
                  "displayName" : "The Club",
                  "locale" : "en_US"
                }
              ],
              "name" : "club",
              "subscriptions" : [
                {
                  "adHocOffers" : [

                  ],
                  "codeOffers" : [

                  ],
                  "displayPrice" : "5.00",
                  "familyShareable" : false,
                  "groupNumber" : 1,
                  "internalID" : "44S",
                  "introductoryOffer" : null,
                  "localizations" : [

                  ],
                  "productID" : "club.weekly",
                  "recurringSubscriptionPeriod" : "P1W",
                  "referenceName" : "Club Weekly",
                  "subscriptionGroupID" : "44G",
                  "type" : "RecurringSubscription",
                  "winbackOffers" : [
                    {
                      "displayPrice" : "1.5",
                      "internalID" : "44W",
                      "isEligible" : false,
                      "numberOfPeriods" : 2,
                      "offerID" : "come-back",
                      "paymentMode" : "payAsYouGo",
                      "referenceName" : "Come back",
                      "subscriptionPeriod" : "P1W"
                    }
                  ]
                }
              ]
            }
          ],
          "version" : {
            "major" : 4,
            "minor" : 0
          }
        }

        """

    /// Billing plans, with an introductory offer for each.
    static let version5 = """
        {
          "identifier" : "5E5E5E5E",
          "nonRenewingSubscriptions" : [

          ],
          "products" : [

          ],
          "settings" : {
            "_storeKitErrors" : [

            ],
            "_timeRate" : 0
          },
          "subscriptionGroups" : [
            {
              "id" : "55G",
              "localizations" : [

              ],
              "name" : "Club",
              "subscriptions" : [
                {
                  "adHocOffers" : [
                    {
                      "billingPlanType" : "BILLED_UPFRONT",
                      "internalID" : "55A",
                      "numberOfPeriods" : 1,
                      "offerID" : "month-free",
                      "paymentMode" : "free",
                      "referenceName" : "A month free",
                      "subscriptionPeriod" : "P1M"
                    },
                    {
                      "billingPlanType" : "MONTHLY",
                      "internalID" : "55B",
                      "numberOfPeriods" : 1,
                      "offerID" : "two-free",
                      "paymentMode" : "free",
                      "referenceName" : "Two free",
                      "subscriptionPeriod" : "P2M"
                    }
                  ],
                  "billingPlans" : [
                    {
                      "billingPlanType" : "BILLED_UPFRONT",
                      "commitmentDisplayPrice" : "60.00",
                      "displayPrice" : "60.00",
                      "internalID" : "55P",
                      "isEnabled" : true
                    },
                    {
                      "billingPlanType" : "MONTHLY",
                      "commitmentDisplayPrice" : "72.00",
                      "displayPrice" : "6.00",
                      "internalID" : "55M",
                      "isEnabled" : true
                    }
                  ],
                  "codeOffers" : [

                  ],
                  "displayPrice" : "60.00",
                  "familyShareable" : false,
                  "groupNumber" : 1,
                  "internalID" : "55S",
                  "introductoryOffer" : {
                    "billingPlanType" : "BILLED_UPFRONT",
                    "internalID" : "55I",
                    "numberOfPeriods" : 1,
                    "paymentMode" : "free",
                    "subscriptionPeriod" : "P1M"
                  },
                  "introductoryOffers" : [
                    {
                      "billingPlanType" : "MONTHLY",
                      "internalID" : "55J",
                      "numberOfPeriods" : 1,
                      "paymentMode" : "free",
                      "subscriptionPeriod" : "P2M"
                    },
                    {
                      "billingPlanType" : "BILLED_UPFRONT",
                      "internalID" : "55I",
                      "numberOfPeriods" : 1,
                      "paymentMode" : "free",
                      "subscriptionPeriod" : "P1M"
                    }
                  ],
                  "localizations" : [

                  ],
                  "productID" : "club.yearly",
                  "recurringSubscriptionPeriod" : "P1Y",
                  "referenceName" : "Club Yearly",
                  "subscriptionGroupID" : "55G",
                  "type" : "RecurringSubscription",
                  "winbackOffers" : [

                  ]
                }
              ]
            }
          ],
          "version" : {
            "major" : 5,
            "minor" : 0
          }
        }

        """
}
