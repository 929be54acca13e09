import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// An uploaded retention message.
struct UploadedMessage: Sendable, Hashable {
    typealias State = AppStoreServerAPI.MessageState

    var id: UUID
    var at: Date
    /// The body of the upload, unchanged.
    var body: AppStoreServerAPI.UploadMessageRequestBody
    var state: State

    /// The largest number of messages of an app (Apple: Upload Message).
    static let limit = 2000
    static let states: [State] = [.pending, .approved, .rejected]

    /// The images of the message and of its bullet points.
    var images: [UUID] {
        [body.image?.imageIdentifier].compactMap(\.self) + (body.bulletPoints ?? []).compactMap(\.imageIdentifier)
    }

    /// Whether the message has only text. Messages with an offer or another product must not have more.
    var isPlain: Bool { body.image == nil && (body.bulletPoints ?? []).isEmpty }
}

extension AppStoreServerAPI.UploadMessageRequestBody {
    private typealias Code = AppStoreServerAPI.ErrorCode

    /// Throws `ErrorCode` and `ServerRefusal` unless Apple accepts the message. `size` returns the size of an image, and
    /// `nil` for an unknown one. Lengths are counted in Unicode code points.
    func check(sizeOf size: (UUID) throws -> AppStoreServerAPI.ImageSize?) throws {
        do { _ = try Self(json: self.json) } catch { throw Self.refusal("\(error).") }
        try Self.check(self.header, "header", 66, .headerTooLong)
        try Self.check(self.body, "body", 144, .bodyTooLong)
        let position = self.headerPosition
        guard position == nil || position == .aboveBody || position == .aboveImage else {
            throw Self.refusal("The headerPosition should be ABOVE_BODY or ABOVE_IMAGE.")
        }
        if let image = self.image {
            try Self.check(image.altText, "altText", 150, .altTextTooLong)
            try Self.check(image.imageIdentifier, .fullSize, size)
        } else if position == .aboveImage {
            throw Code.badRequestAboveImageRequiresAnImage
        }
        let points = self.bulletPoints ?? []
        guard points.count <= 5 else { throw Code.badRequestTooManyBulletPoints }
        for point in points {
            try Self.check(point.text, "text", 66, .badRequestBulletPointTextTooLong)
            try Self.check(point.altText, "altText", 150, .altTextTooLong)
            try Self.check(point.imageIdentifier, .bulletPoint, size)
        }
    }

    private static func check(_ text: String?, _ member: String, _ limit: Int, _ tooLong: Code) throws {
        guard let text, !text.isEmpty else { throw refusal("The \(member) is missing.") }
        guard text.unicodeScalars.count <= limit else { throw tooLong }
    }

    /// Apple does not document the error for an unknown image.
    private static func check(
        _ image: UUID?, _ wanted: AppStoreServerAPI.ImageSize, _ size: (UUID) throws -> AppStoreServerAPI.ImageSize?
    ) throws {
        guard let image else { throw refusal("The imageIdentifier should be a UUID.") }
        guard let found = try size(image) else {
            throw ServerRefusal(.invalidImage, "There is no image \(image.uuidString.lowercased()).")
        }
        guard found == wanted else {
            throw ServerRefusal(.badRequestImageSize, "The image should be of the size \(wanted), not \(found).")
        }
    }

    private static func refusal(_ reason: String) -> ServerRefusal { ServerRefusal(.generalBadRequest, reason) }
}

/// The form of a locale in Apple's paths and payloads.
enum RetentionLocale {
    /// Whether a string is a language with an optional script and region, joined with hyphens, such as `en-US` or
    /// `zh-Hans`. Apple does not document its list of locales here.
    static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        func areLetters(_ part: Substring.UTF8View) -> Bool {
            part.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        }
        func areDigits(_ part: Substring.UTF8View) -> Bool {
            part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard let language = parts.first, (2...3).contains(language.count), areLetters(language) else { return false }
        var rest = parts.dropFirst()
        if let script = rest.first, script.count == 4, areLetters(script) { rest.removeFirst() }
        if let region = rest.first,
            region.count == 2 && areLetters(region) || region.count == 3 && areDigits(region)
        {
            rest.removeFirst()
        }
        return rest.isEmpty
    }
}
