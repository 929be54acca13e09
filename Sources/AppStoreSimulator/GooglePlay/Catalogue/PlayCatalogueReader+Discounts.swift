import Foundation
import GooglePlay
import Primitives
import StoreModel

/// Reads discounts, and the discounted offers of one-time products.
extension PlayCatalogueReader {
    /// Reads an `absoluteDiscount` or a `relativeDiscount`. Returns the price after it; `nil` if it is neither, or if no
    /// price is left.
    mutating func discountedPrice(_ place: JSONPlace, _ base: AndroidPublisher.Money) -> AndroidPublisher.Money? {
        if let discount = money(place, "absoluteDiscount"), let price = base.subtracting(discount),
            price.billionths > 0
        {
            return price
        }
        guard let fraction = place["relativeDiscount"]?.value.doubleValue, fraction > 0, fraction < 1,
            let price = base.share(Int64(((1 - fraction) * 1_000_000).rounded()), of: 1_000_000), price.billionths > 0
        else { return nil }
        return price
    }

    /// Reads the member `offers` of a one-time product.
    mutating func productOffers(_ place: JSONPlace, of options: [PlayProduct.Option]) -> [PlayProduct.Offer] {
        var offers: [PlayProduct.Offer] = []
        for entry in list(place, "offers") {
            guard let named = text(entry, "purchaseOptionId"),
                let option = options.first(where: { $0.id.hasSameBytes(as: named) })
            else {
                fail(
                    .groupMismatch, "\(entry.pointer)/purchaseOptionId",
                    "an offer should name a purchase option of its product")
                continue
            }
            let known = offers.filter { $0.optionID == option.id }.map(\.id)
            guard let id = label(entry, "offerId", known) else { continue }
            guard let terms = entry["discountedOffer"] else {
                warn(
                    .unknownType, entry.pointer,
                    "only offers with a discountedOffer are simulated; the offer \(id) is not sold")
                continue
            }
            offers.append(
                PlayProduct.Offer(
                    id: id, optionID: option.id, isActive: isActive(entry), tags: option.tags + tags(entry),
                    start: date(terms, "startTime"), end: date(terms, "endTime"),
                    redemptionLimit: redemptionLimit(terms), prices: offerPrices(entry, of: option)))
        }
        return offers
    }

    /// Reads the prices of the regions in which the offer and its purchase option are sold.
    private mutating func offerPrices(_ place: JSONPlace, of option: PlayProduct.Option) -> [PlayPrice] {
        var prices: [PlayPrice] = []
        for entry in list(place, "regionalPricingAndAvailabilityConfigs") {
            guard let region = region(entry), let base = option.prices.price(in: region),
                entry["availability"].map({ $0.value == "AVAILABLE" }) ?? true
            else { continue }
            guard prices.price(in: region) == nil else {
                fail(.duplicateProduct, "\(entry.pointer)/regionCode", "the region \(region) is named twice")
                continue
            }
            if entry["noOverride"] != nil {
                prices.append(PlayPrice(regionCode: region, price: base))
            } else if let price = discountedPrice(entry, base) {
                prices.append(PlayPrice(regionCode: region, price: price))
            } else {
                fail(
                    .badPrice, entry.pointer,
                    "an offer should have noOverride, an absoluteDiscount below the price or a relativeDiscount between 0 and 1"
                )
            }
        }
        return prices
    }

    private mutating func date(_ place: JSONPlace, _ name: String) -> Date? {
        guard let text = text(place, name) else { return nil }
        guard let date = RFC3339.date(from: text) else {
            fail(
                .badPeriod, "\(place.pointer)/\(name)",
                "\(name) should be an instant such as 2026-11-20T14:40:00Z")
            return nil
        }
        return date
    }

    /// Reads a number from 0 to 50, which Google's JSON has as a string.
    private mutating func redemptionLimit(_ place: JSONPlace) -> Int {
        guard let member = place["redemptionLimit"] else { return 0 }
        guard let limit = try? WireJSON.decode(Int64Text.self, from: member.value).value, (0...50).contains(limit)
        else {
            fail(.badCount, member.pointer, "the redemptionLimit should be \"1\" to \"50\", or \"0\" for none")
            return 0
        }
        return Int(limit)
    }
}
