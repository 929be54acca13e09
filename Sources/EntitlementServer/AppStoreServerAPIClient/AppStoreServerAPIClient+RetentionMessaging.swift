import AppStorePayloads
import Foundation
import StoreModel

/// The calls of Apple's Retention Messaging API: messages that customers see before they cancel a subscription.
extension AppStoreServerAPIClient {
    private static func path(_ components: String...) -> [String] { ["v1", "messaging"] + components }

    private static func text(_ id: UUID) -> String { id.uuidString.lowercased() }

    // MARK: - Images

    /// Uploads an image (Upload Image). If the image exists already, the error has the code `.imageAlreadyExists`.
    ///
    /// - Parameters:
    ///   - image: A new identifier of the image.
    ///   - file: A PNG file without transparency.
    ///   - size: The size of the image; `nil` means full size.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func uploadImage(
        _ image: UUID, _ file: [UInt8], size: AppStoreServerAPI.ImageSize? = nil
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: Self.path("image", Self.text(image)),
                query: size.map { [("imageSize", $0.rawValue)] } ?? [], image: file, mayRepeat: false))
    }

    /// Deletes an image that no message uses (Delete Image).
    ///
    /// - Parameter image: The identifier of the image.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func deleteImage(_ image: UUID) async throws {
        try await connection.send(
            .init(method: .delete, path: Self.path("image", Self.text(image)), mayRepeat: false))
    }

    /// Gets every image with its state (Get Image List).
    ///
    /// - Returns: The images.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func imageList() async throws -> AppStoreServerAPI.GetImageListResponse {
        try await connection.request(.init(method: .get, path: Self.path("image", "list")))
    }

    // MARK: - Messages

    /// Uploads a message (Upload Message). If the message exists already, the error has the code
    /// `.messageAlreadyExists`.
    ///
    /// - Parameters:
    ///   - message: A new identifier of the message.
    ///   - body: The text of the message, and its images.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func uploadMessage(
        _ message: UUID, _ body: AppStoreServerAPI.UploadMessageRequestBody
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: Self.path("message", Self.text(message)), body: body.json, mayRepeat: false))
    }

    /// Deletes a message (Delete Message).
    ///
    /// - Parameter message: The identifier of the message.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func deleteMessage(_ message: UUID) async throws {
        try await connection.send(
            .init(method: .delete, path: Self.path("message", Self.text(message)), mayRepeat: false))
    }

    /// Gets every message with its state (Get Message List).
    ///
    /// - Returns: The messages.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func messageList() async throws -> AppStoreServerAPI.GetMessageListResponse {
        try await connection.request(.init(method: .get, path: Self.path("message", "list")))
    }

    // MARK: - Default messages

    /// Sets the message that customers see if no other message is chosen for them (Configure Default Message).
    ///
    /// - Parameters:
    ///   - message: The identifier of an approved message.
    ///   - product: The product of the subscription.
    ///   - locale: The locale of the device, such as `en-US`.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func setDefaultMessage(_ message: UUID, of product: ProductID, locale: String) async throws {
        try await connection.send(
            .init(
                method: .put, path: Self.path("default", product.rawValue, locale),
                body: AppStoreServerAPI.DefaultConfigurationRequest { $0.messageIdentifier = message }.json))
    }

    /// Removes the default message of a product and locale (Delete Default Message).
    ///
    /// - Parameters:
    ///   - product: The product of the subscription.
    ///   - locale: The locale of the device.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func deleteDefaultMessage(of product: ProductID, locale: String) async throws {
        try await connection.send(
            .init(method: .delete, path: Self.path("default", product.rawValue, locale), mayRepeat: false))
    }

    /// Gets the default message of a product and locale (Get Default Message).
    ///
    /// - Parameters:
    ///   - product: The product of the subscription.
    ///   - locale: The locale of the device.
    /// - Returns: The identifier of the message.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func defaultMessage(
        of product: ProductID, locale: String
    ) async throws -> AppStoreServerAPI.DefaultConfigurationResponse {
        try await connection.request(.init(method: .get, path: Self.path("default", product.rawValue, locale)))
    }

    // MARK: - Realtime requests

    /// Sets the URL of the server that chooses a message in real time (Configure Realtime URL).
    ///
    /// - Parameter url: The URL, at most 256 characters that begin with `https://`.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func setRealtimeURL(_ url: String) async throws {
        try await connection.send(
            .init(
                method: .put, path: Self.path("realtime", "url"),
                body: AppStoreServerAPI.RealtimeUrlRequest { $0.realtimeURL = url }.json))
    }

    /// Removes the URL for realtime requests (Delete Realtime URL).
    ///
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func deleteRealtimeURL() async throws {
        try await connection.send(.init(method: .delete, path: Self.path("realtime", "url"), mayRepeat: false))
    }

    /// Gets the URL for realtime requests (Get Realtime URL).
    ///
    /// - Returns: The URL.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func realtimeURL() async throws -> AppStoreServerAPI.RealtimeUrlResponse {
        try await connection.request(.init(method: .get, path: Self.path("realtime", "url")))
    }

    /// Begins a performance test of the server that chooses messages, in the sandbox (Initiate Performance Test).
    ///
    /// - Parameter original: The original transaction of an active subscription in the sandbox.
    /// - Returns: The identifier for ``performanceTestResults(_:)``, and the parameters of the test.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func startPerformanceTest(
        of original: TransactionID
    ) async throws -> AppStoreServerAPI.PerformanceTestResponse {
        try await connection.request(
            .init(
                method: .post, path: Self.path("performanceTest"),
                body: AppStoreServerAPI.PerformanceTestRequest { $0.originalTransactionId = original.rawValue }.json,
                mayRepeat: false))
    }

    /// Gets the results of a performance test (Get Performance Test Results).
    ///
    /// - Parameter test: The identifier that ``startPerformanceTest(of:)`` returned.
    /// - Returns: The results; `result` is `.pending` while the test runs.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func performanceTestResults(
        _ test: String
    ) async throws -> AppStoreServerAPI.PerformanceTestResultResponse {
        try await connection.request(.init(method: .get, path: Self.path("performanceTest", "result", test)))
    }
}
