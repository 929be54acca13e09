import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// PNG files with a valid structure. The check of the store does not decode pixels.
enum Pictures {
    static func png(_ width: Int, _ height: Int, color: UInt8 = 2, extra: [(String, [UInt8])] = []) -> [UInt8] {
        func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            number(content.count) + Array(type.utf8) + content + [0, 0, 0, 0]
        }
        let header = number(width) + number(height) + [8, color, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
            + extra.flatMap { chunk($0.0, $0.1) } + chunk("IDAT", [1, 2, 3]) + chunk("IEND", [])
    }

    static let full = png(3840, 160)
    static let bullet = png(512, 512)
}

extension ServerClient {
    static let messaging = "/inApps/v1/messaging"

    /// Uploads an image, and returns the error code.
    @discardableResult
    func upload(_ file: [UInt8], _ id: UUID, size: String? = nil) async throws -> ErrorCode? {
        let path = "\(Self.messaging)/image/\(id)" + (size.map { "?imageSize=\($0)" } ?? "")
        let response = try await transport.send(
            HTTPRequest(
                method: .put, url: "http://store.test" + path,
                headers: [
                    "Authorization": "Bearer \(try serverKey.token(at: base.now()))", "Content-Type": "image/png",
                ], body: .bytes(file)))
        guard !response.isSuccess else { return nil }
        let refusal = try AppStoreServerAPI.ErrorResponse(json: try await response.body.json())
        return refusal.code
    }

    @discardableResult
    func upload(message: JSONValue, _ id: UUID) async throws -> ErrorCode? {
        try await code(.put, "\(Self.messaging)/message/\(id)", message.text())
    }

    /// Uploads a message of text only, and returns its identifier.
    func uploadMessage(_ header: String = "Stay", _ body: String = "You keep everything.") async throws -> UUID {
        let id = UUID()
        let code = try await upload(message: ["header": .string(header), "body": .string(body)], id)
        #expect(code == nil)
        return id
    }

    @discardableResult
    func setDefault(_ id: UUID, _ product: String = "monthly", _ locale: String = "en-US") async throws -> ErrorCode? {
        try await code(
            .put, "\(Self.messaging)/default/\(product)/\(locale)", #"{"messageIdentifier":"\#(id)"}"#)
    }
}

/// The endpoints of Retention Messaging on Apple's paths, except the performance test.
struct RetentionEndpointTests {
    private typealias API = AppStoreServerAPI
    private static let path = ServerClient.messaging

    // MARK: - Images

    @Test func `an uploaded image is listed as approved, and is deleted once`() async throws {
        try await TestStore.withServer { test, client in
            let (full, bullet) = (UUID(), UUID())
            #expect(try await client.upload(Pictures.full, full) == nil)
            #expect(try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT") == nil)
            let list = try await client.get("\(Self.path)/image/list", as: API.GetImageListResponse.self)
            let images = list.imageIdentifiers ?? []
            #expect(Set(images.compactMap(\.imageIdentifier)) == [full, bullet])
            #expect(images.allSatisfy { $0.imageState == .approved })
            #expect(images.first { $0.imageIdentifier == bullet }?.imageSize == .bulletPoint)
            #expect(try await client.upload(Pictures.full, full) == .imageAlreadyExists)
            #expect(try await client.code(.delete, "\(Self.path)/image/\(full)") == nil)
            #expect(try await client.code(.delete, "\(Self.path)/image/\(full)") == .imageNotFound)
        }
    }

    static let refusedImages: [(String, [UInt8], String?, ErrorCode)] = [
        ("no PNG", Array("GIF89a".utf8), nil, .invalidImage), ("empty", [], nil, .invalidImage),
        ("cut off", Array(Pictures.full.dropLast(3)), nil, .invalidImage),
        ("bytes after the end", Pictures.full + [0], nil, .invalidImage),
        (
            "a chunk longer than the file", Array(Pictures.full.prefix(33)) + [0xFF, 0xFF, 0xFF, 0xFF], nil,
            .invalidImage
        ),
        ("an alpha channel", Pictures.png(3840, 160, color: 6), nil, .invalidImage),
        ("grey with alpha", Pictures.png(3840, 160, color: 4), nil, .invalidImage),
        ("a transparent colour", Pictures.png(3840, 160, extra: [("tRNS", [0, 0])]), nil, .invalidImage),
        ("an unknown colour type", Pictures.png(3840, 160, color: 5), nil, .invalidImage),
        ("too narrow", Pictures.png(3839, 160), nil, .invalidImage),
        ("too low", Pictures.png(3840, 159), "FULL_SIZE", .invalidImage),
        ("too high", Pictures.png(3840, 2161), nil, .invalidImage),
        ("no pixels", Pictures.png(0, 0), nil, .invalidImage),
        ("a bullet point that is not square", Pictures.png(64, 65), "BULLET_POINT", .invalidImage),
        ("a bullet point of full size", Pictures.full, "BULLET_POINT", .invalidImage),
        ("an unknown size", Pictures.full, "HUGE", .badRequestImageSize),
    ]

    @Test(arguments: refusedImages)
    func `an invalid image is refused and not kept`(
        title: String, file: [UInt8], size: String?, code: ErrorCode
    ) async throws {
        try await TestStore.withServer { _, client in
            #expect(try await client.upload(file, UUID(), size: size) == code, "\(title)")
            let list = try await client.get("\(Self.path)/image/list", as: API.GetImageListResponse.self)
            #expect(list.imageIdentifiers == [])
        }
    }

    @Test func `an image is a PNG by its header, and its identifier a UUID`() async throws {
        try await TestStore.withServer { _, client in
            let response = try await client.send(.put, "\(Self.path)/image/\(UUID())", "{}")
            #expect(response.status == 415)
            #expect(try await client.code(.delete, "\(Self.path)/image/nine") == .generalBadRequest)
        }
    }

    @Test func `an image in a message is deleted only after the message`() async throws {
        try await TestStore.withServer { _, client in
            let (full, bullet, message) = (UUID(), UUID(), UUID())
            try await client.upload(Pictures.full, full)
            try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
            #expect(try await client.upload(message: Self.rich(full, bullet), message) == nil)
            for id in [full, bullet] {
                #expect(try await client.code(.delete, "\(Self.path)/image/\(id)") == .imageInUse)
            }
            #expect(try await client.code(.delete, "\(Self.path)/message/\(message)") == nil)
            #expect(try await client.code(.delete, "\(Self.path)/message/\(message)") == .messageNotFound)
            for id in [full, bullet] { #expect(try await client.code(.delete, "\(Self.path)/image/\(id)") == nil) }
        }
    }

    // MARK: - Messages

    private static func rich(_ full: UUID, _ bullet: UUID, points: Int = 5) -> JSONValue {
        [
            "header": .string(String(repeating: "é", count: 66)), "body": .string(String(repeating: "b", count: 144)),
            "headerPosition": "ABOVE_IMAGE",
            "image": [
                "imageIdentifier": .string(full.uuidString), "altText": .string(String(repeating: "a", count: 150)),
            ],
            "bulletPoints": .array(Array(repeating: point(bullet), count: points)),
        ]
    }

    private static func point(_ image: UUID, text: String = String(repeating: "t", count: 66)) -> JSONValue {
        ["text": .string(text), "imageIdentifier": .string(image.uuidString), "altText": "x"]
    }

    @Test func `a message may have the longest texts, an image and five bullet points`() async throws {
        try await TestStore.withServer { _, client in
            let (full, bullet, id) = (UUID(), UUID(), UUID())
            try await client.upload(Pictures.full, full)
            try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
            #expect(try await client.upload(message: Self.rich(full, bullet), id) == nil)
            #expect(try await client.upload(message: Self.rich(full, bullet), id) == .messageAlreadyExists)
            let list = try await client.get("\(Self.path)/message/list", as: API.GetMessageListResponse.self)
            #expect(list.messageIdentifiers?.map(\.messageIdentifier) == [id])
            #expect(list.messageIdentifiers?.map(\.messageState) == [.approved])
        }
    }

    static let refusedMessages: [(String, JSONValue?, ErrorCode)] = [
        ("/header", nil, .generalBadRequest), ("/header", "", .generalBadRequest), ("/header", 7, .generalBadRequest),
        ("/header", .string(String(repeating: "h", count: 67)), .headerTooLong), ("/body", nil, .generalBadRequest),
        ("/body", .string(String(repeating: "b", count: 145)), .bodyTooLong),
        ("/headerPosition", "LEFT", .generalBadRequest), ("/image", nil, .badRequestAboveImageRequiresAnImage),
        ("/image", "picture", .generalBadRequest), ("/image/altText", nil, .generalBadRequest),
        ("/image/altText", .string(String(repeating: "a", count: 151)), .altTextTooLong),
        ("/image/imageIdentifier", "nine", .generalBadRequest),
        ("/image/imageIdentifier", "7e3fb20b-4cdb-47cc-936d-99d65f608138", .invalidImage),
        ("/image/imageIdentifier", "bullet", .badRequestImageSize),
        ("/bulletPoints", "many", .generalBadRequest), ("/bulletPoints", [1], .generalBadRequest),
        ("/bulletPoints/0/imageIdentifier", "full", .badRequestImageSize),
        ("/bulletPoints/0/imageIdentifier", nil, .generalBadRequest),
        ("/bulletPoints/0/text", nil, .generalBadRequest),
        ("/bulletPoints/0/text", .string(String(repeating: "t", count: 67)), .badRequestBulletPointTextTooLong),
        ("/bulletPoints/0/altText", .string(String(repeating: "a", count: 151)), .altTextTooLong),
    ]

    @Test(arguments: refusedMessages)
    func `an invalid message is refused and not kept`(pointer: String, value: JSONValue?, code: ErrorCode) async throws
    {
        try await TestStore.withServer { _, client in
            let (full, bullet) = (UUID(), UUID())
            try await client.upload(Pictures.full, full)
            try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
            let names = ["full": full, "bullet": bullet]
            let value = value?.stringValue.flatMap { names[$0] }.map { .string($0.uuidString) } ?? value
            var body = Self.rich(full, bullet, points: 1)
            let path = pointer.split(separator: "/").map(String.init)
            switch path.count {
            case 1: body[path[0]] = value
            case 2: body[path[0]]?[path[1]] = value
            default: body[path[0]] = .array([changed(body[path[0]]?[0] ?? [:], path[2], value)])
            }
            #expect(try await client.upload(message: body, UUID()) == code, "\(pointer)")
            let list = try await client.get("\(Self.path)/message/list", as: API.GetMessageListResponse.self)
            #expect(list.messageIdentifiers == [])
        }
    }

    private func changed(_ value: JSONValue, _ member: String, _ new: JSONValue?) -> JSONValue {
        var value = value
        value[member] = new
        return value
    }

    @Test func `a sixth bullet point is refused`() async throws {
        try await TestStore.withServer { _, client in
            let (full, bullet) = (UUID(), UUID())
            try await client.upload(Pictures.full, full)
            try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
            #expect(
                try await client.upload(message: Self.rich(full, bullet, points: 6), UUID())
                    == .badRequestTooManyBulletPoints)
        }
    }

    @Test func `message 2001 and image 2001 are refused`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.database.write { sql in
                for number in 1...2000 {
                    let id = UUID(namespace: .simulatedStore, name: "\(number)")
                    try SimulatorDatabase(sql).insert(
                        UploadedMessage(
                            id: id, at: Fixtures.start, body: try .init(json: ["header": "h", "body": "b"]),
                            state: .approved))
                    try SimulatorDatabase(sql).insert(
                        try UploadedImage(
                            id, file: Pictures.full, size: .fullSize, at: Fixtures.start, state: .approved))
                }
            }
            #expect(
                try await client.upload(message: ["header": "h", "body": "b"], UUID())
                    == .maximumNumberOfMessagesReached)
            #expect(try await client.upload(Pictures.full, UUID()) == .maximumNumberOfImagesReached)
        }
    }

    // MARK: - Default messages

    @Test func `a default message is set, replaced, read and deleted by product and locale`() async throws {
        try await TestStore.withServer { _, client in
            let (first, second) = (try await client.uploadMessage(), try await client.uploadMessage())
            let place = "\(Self.path)/default/monthly/en-US"
            #expect(try await client.code(.get, place) == .defaultMessageNotFound)
            for id in [first, first, second] { #expect(try await client.setDefault(id) == nil) }
            #expect(
                try await client.get(place, as: API.DefaultConfigurationResponse.self).messageIdentifier == second)
            #expect(try await client.code(.get, "\(Self.path)/default/monthly/en") == .defaultMessageNotFound)
            #expect(try await client.code(.get, "\(Self.path)/default/pro/en-US") == .defaultMessageNotFound)
            #expect(try await client.code(.delete, place) == nil)
            #expect(try await client.code(.delete, place) == .defaultMessageNotFound)
        }
    }

    @Test func `a deleted message is no default message any more`() async throws {
        try await TestStore.withServer { _, client in
            let id = try await client.uploadMessage()
            try await client.setDefault(id)
            #expect(try await client.code(.delete, "\(Self.path)/message/\(id)") == nil)
            #expect(try await client.code(.get, "\(Self.path)/default/monthly/en-US") == .defaultMessageNotFound)
        }
    }

    @Test(arguments: [
        ("coins", "en-US", ErrorCode.invalidProductId), ("nothing", "en-US", .invalidProductId),
        ("monthly", "en_US", .invalidLocale), ("monthly", "english", .invalidLocale),
        ("monthly", "en-USA", .invalidLocale), ("monthly", "e%CC%81n", .invalidLocale),
        ("monthly", "en-US-x", .invalidLocale),
    ])
    func `a default message needs a subscription and a locale`(
        product: String, locale: String, code: ErrorCode
    ) async throws {
        try await TestStore.withServer { _, client in
            let id = try await client.uploadMessage()
            #expect(try await client.setDefault(id, product, locale) == code)
            for method in [HTTPRequest.Method.get, .delete] {
                #expect(try await client.code(method, "\(Self.path)/default/\(product)/\(locale)") == code)
            }
        }
    }

    @Test(arguments: ["de", "zh-Hans", "es-419", "pt-BR", "sr-Latn-RS"])
    func `a locale has a language, and perhaps a script and a region`(locale: String) async throws {
        try await TestStore.withServer { (_, client) async throws in
            #expect(try await client.setDefault(try await client.uploadMessage(), "monthly", locale) == nil)
        }
    }

    @Test func `an unknown message is no default message`() async throws {
        try await TestStore.withServer { (_, client) async throws in
            #expect(try await client.setDefault(UUID()) == .messageNotFound)
            let place = "\(Self.path)/default/monthly/en-US"
            #expect(try await client.code(.put, place, "{}") == .generalBadRequest)
            #expect(try await client.code(.put, place, #"{"messageIdentifier":"x"}"#) == .generalBadRequest)
        }
    }

    @Test func `with a review, a message and its image become a default message after their approval`() async throws {
        try await TestStore.withServer { test, client in
            try await test.set(.retentionReview, true)
            let (image, id) = (UUID(), UUID())
            try await client.upload(Pictures.full, image)
            let body: JSONValue = [
                "header": "h", "body": "b",
                "image": ["imageIdentifier": .string(image.uuidString), "altText": "a"],
            ]
            #expect(try await client.upload(message: body, id) == nil)
            let list = try await client.get("\(Self.path)/message/list", as: API.GetMessageListResponse.self)
            #expect(list.messageIdentifiers?.map(\.messageState) == [.pending])
            #expect(try await client.setDefault(id) == .messageNotApproved)
            try await test.store.reviewRetentionMessage(id, .approved)
            #expect(try await client.setDefault(id) == .imageNotApproved)
            try await test.store.reviewRetentionImage(image, .rejected)
            #expect(try await client.setDefault(id) == .imageNotApproved)
            try await test.store.reviewRetentionImage(image, .approved)
            #expect(try await client.setDefault(id) == nil)
            await #expect(throws: SimulatorError(.unknownMessage, "")) {
                try await test.store.reviewRetentionMessage(UUID(), .approved)
            }
        }
    }

    @Test func `the lists have the state of each image and message`() async throws {
        try await TestStore.withServer { test, client in
            try await test.set(.retentionReview, true)
            let (image, id) = (UUID(), UUID())
            try await client.upload(Pictures.full, image)
            #expect(try await client.upload(message: ["header": "h", "body": "b"], id) == nil)
            func check(_ imageState: API.ImageState, _ messageState: API.MessageState) async throws {
                let images = try await client.get("\(Self.path)/image/list", as: API.GetImageListResponse.self)
                let messages = try await client.get("\(Self.path)/message/list", as: API.GetMessageListResponse.self)
                #expect(images.imageIdentifiers?.map(\.imageIdentifier) == [image])
                #expect(images.imageIdentifiers?.map(\.imageState) == [imageState])
                #expect(messages.messageIdentifiers?.map(\.messageIdentifier) == [id])
                #expect(messages.messageIdentifiers?.map(\.messageState) == [messageState])
                let uploads = try test.store.retentionUploads()
                #expect(uploads.images.map(\.state) == [imageState.rawValue])
                #expect(uploads.messages.map(\.state) == [messageState.rawValue])
            }
            try await check(.pending, .pending)
            try await test.store.reviewRetentionImage(image, .rejected)
            try await test.store.reviewRetentionMessage(id, .approved)
            try await check(.rejected, .approved)
            try await test.store.reviewRetentionImage(image, .approved)
            try await test.store.reviewRetentionMessage(id, .rejected)
            try await check(.approved, .rejected)
        }
    }

    // MARK: - The URL

    @Test func `the URL for realtime requests is set, read and deleted`() async throws {
        try await TestStore.withServer { (_, client) async throws in
            let place = "\(Self.path)/realtime/url"
            #expect(try await client.code(.get, place) == .realtimeUrlNotFound)
            #expect(try await client.code(.delete, place) == .realtimeUrlNotFound)
            for url in ["https://example.com/one", "http://127.0.0.1:8080/two"] {
                #expect(try await client.code(.put, place, #"{"realtimeURL":"\#(url)"}"#) == nil)
                #expect(try await client.get(place, as: API.RealtimeUrlResponse.self).realtimeURL == url)
            }
            #expect(try await client.code(.delete, place) == nil)
            #expect(try await client.code(.get, place) == .realtimeUrlNotFound)
        }
    }

    @Test(arguments: [
        "http://example.com", "https://", "example.com", "ftp://example.com", "https://exa mple.com", "",
        "https://example.com/" + String(repeating: "x", count: 237),
    ])
    func `another URL is refused`(url: String) async throws {
        try await TestStore.withServer { (_, client) async throws in
            let place = "\(Self.path)/realtime/url"
            #expect(try await client.code(.put, place, #"{"realtimeURL":"\#(url)"}"#) == .badRequestRealtimeUrl)
            #expect(try await client.code(.put, place, "{}") == .badRequestRealtimeUrl)
            #expect(try await client.code(.get, place) == .realtimeUrlNotFound)
        }
    }

    @Test func `a URL of 256 characters is accepted`() async throws {
        try await TestStore.withServer { (_, client) async throws in
            let url = "https://example.com/" + String(repeating: "x", count: 236)
            #expect(try await client.code(.put, "\(Self.path)/realtime/url", #"{"realtimeURL":"\#(url)"}"#) == nil)
        }
    }

    // MARK: - State

    @Test func `messages, images and the URL survive a restart, and an export with an import`() async throws {
        let folder = try ScratchFolder()
        let (image, id) = (UUID(), UUID())
        var state = JSONValue.null
        try await TestStore.with(in: folder) { test in
            let client = try ServerClient(test)
            try await client.upload(Pictures.bullet, image, size: "BULLET_POINT")
            let body: JSONValue = ["header": "h", "body": "b", "bulletPoints": [Self.point(image)]]
            #expect(try await client.upload(message: body, id) == nil)
            #expect(try await client.setDefault(id) == nil)
            try await test.store.setRealtimeURL("https://example.com")
            try await test.buy("monthly")
            try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            state = try await test.store.exportState()
        }
        func check(_ test: TestStore) async throws {
            let client = try ServerClient(test)
            #expect(
                try await client.get("\(Self.path)/default/monthly/en-US", as: API.DefaultConfigurationResponse.self)
                    .messageIdentifier == id)
            #expect(try await client.code(.delete, "\(Self.path)/image/\(image)") == .imageInUse)
            #expect(try test.store.realtimeURL() == "https://example.com")
            #expect(try test.store.retentionMessages().map(\.messageIdentifier) == [id])
        }
        try await TestStore.with(in: folder) { try await check($0) }
        try await TestStore.with { test in
            try await test.store.importState(state)
            try await check(test)
        }
    }

    @Test(arguments: [
        ("retention_message", "body", #"{"header":"h"}"#), ("retention_message", "state", "MAYBE"),
        ("retention_message", "id", "7E3FB20B-4CDB-47CC-936D-99D65F608138"), ("retention_image", "size", "HUGE"),
        ("default_message", "locale", "en_US"), ("shown_message", "body", "{}"),
        ("performance_test", "body", #"{"failures":1}"#),
    ])
    func `a state with a row that no upload makes is refused`(
        table: String, column: String, value: String
    ) async throws {
        try await TestStore.withServer { test, client in
            try await client.upload(Pictures.full, UUID())
            try await client.setDefault(try await client.uploadMessage())
            try await test.buy("monthly")
            try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            try await test.store.database.write {
                try SimulatorDatabase($0).save(.init(testing: "https://example.com"), UUID(), at: Fixtures.start)
            }
            var state = try await test.store.exportState()
            try await test.store.importState(state)
            var row = try #require(state["tables"]?[table]?[0])
            row[column] = .string(value)
            state["tables"]?[table] = [row]
            await #expect(throws: SimulatorError.self, "\(table).\(column)") { try await test.store.importState(state) }
        }
    }
}
