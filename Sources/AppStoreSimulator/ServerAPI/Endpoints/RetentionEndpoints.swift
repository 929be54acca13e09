import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

extension ServerAPIEndpoints {
    private static let path = "/inApps/v1/messaging"

    /// The endpoints of the Retention Messaging API.
    static let retentionMessaging: [Endpoint<ServerAPIHandler>] = [
        action(.put, path + "/image/{imageIdentifier}", "Upload Image", rate: 1) { call in
            let (id, size) = (try call.uuid("imageIdentifier"), try imageSize(call))
            try await call.store.addRetentionImage(id, try await call.image(), size: size)
        },
        action(.delete, path + "/image/{imageIdentifier}", "Delete Image", rate: 1) { call in
            try await call.store.deleteRetentionImage(try call.uuid("imageIdentifier"))
        },
        get(path + "/image/list", "Get Image List", rate: 1) { call in
            let images = try call.store.database.read { try SimulatorDatabase($0).retentionImages() }
            return API.GetImageListResponse {
                $0.imageIdentifiers = images.map { image in
                    API.GetImageListResponseItem {
                        $0.imageIdentifier = image.id
                        $0.imageState = image.state
                        $0.imageSize = image.size
                    }
                }
            }
        },
        action(.put, path + "/message/{messageIdentifier}", "Upload Message", rate: 1) { call in
            let id = try call.uuid("messageIdentifier")
            let body = try await call.body(as: API.UploadMessageRequestBody.self)
            try await call.store.addRetentionMessage(id, body)
        },
        action(.delete, path + "/message/{messageIdentifier}", "Delete Message", rate: 1) { call in
            try await call.store.deleteRetentionMessage(try call.uuid("messageIdentifier"))
        },
        get(path + "/message/list", "Get Message List", rate: 1) { call in
            let messages = try call.store.database.read { try SimulatorDatabase($0).retentionMessages() }
            return API.GetMessageListResponse {
                $0.messageIdentifiers = messages.map { message in
                    API.GetMessageListResponseItem {
                        $0.messageIdentifier = message.id
                        $0.messageState = message.state
                    }
                }
            }
        },
        action(.put, path + "/default/{productId}/{locale}", "Configure Default Message", rate: 10) { call in
            let (product, locale) = try defaultMessagePlace(call)
            guard let id = try await call.body(as: API.DefaultConfigurationRequest.self).messageIdentifier else {
                throw ServerRefusal(.generalBadRequest, "The messageIdentifier should be a UUID.")
            }
            try await call.store.setDefaultMessage(id, of: product, locale: locale)
        },
        action(.delete, path + "/default/{productId}/{locale}", "Delete Default Message", rate: 1) { call in
            let (product, locale) = try defaultMessagePlace(call)
            try await call.store.deleteDefaultMessage(of: product, locale: locale)
        },
        get(path + "/default/{productId}/{locale}", "Get Default Message", rate: 1) { call in
            let (product, locale) = try defaultMessagePlace(call)
            let message = try call.store.database.read {
                try SimulatorDatabase($0).defaultMessage(of: product, locale: locale)
            }
            guard let message else { throw API.ErrorCode.defaultMessageNotFound }
            return API.DefaultConfigurationResponse { $0.messageIdentifier = message }
        },
        action(.put, path + "/realtime/url", "Configure Realtime URL", rate: 1) { call in
            try await call.store.setRealtimeURL(try await call.body(as: API.RealtimeUrlRequest.self).realtimeURL)
        },
        action(.delete, path + "/realtime/url", "Delete Realtime URL", rate: 1) { call in
            try await call.store.deleteRealtimeURL()
        },
        get(path + "/realtime/url", "Get Realtime URL", rate: 1) { call in
            guard let url = try call.store.realtimeURL() else { throw API.ErrorCode.realtimeUrlNotFound }
            return API.RealtimeUrlResponse { $0.realtimeURL = url }
        },
        action(.post, path + "/performanceTest", "Initiate Performance Test", rate: 1) { call in
            let request = try await call.body(as: API.PerformanceTestRequest.self)
            guard let text = request.originalTransactionId else {
                throw ServerRefusal(.invalidPerformanceTestRequest, "The originalTransactionId is missing.")
            }
            guard let original = Int64(text), original > 0, String(original) == text else {
                throw API.ErrorCode.invalidTransactionId
            }
            let id = try await call.store.beginPerformanceTest(of: original)
            return API.PerformanceTestResponse {
                $0.config = PerformanceTest.config
                $0.requestId = id.lowercased
            }
        },
        get(path + "/performanceTest/result/{requestId}", "Get Performance Test Results", rate: 1) { call in
            try call.store.performanceTestResults(try call.uuid("requestId", else: .invalidRequestId))
        },
    ]

    private static func imageSize(_ call: ServerCall) throws -> API.ImageSize {
        guard let text = try call.single("imageSize", else: .badRequestImageSize) else { return .fullSize }
        let size = API.ImageSize(rawValue: text)
        guard UploadedImage.sizes.contains(size) else { throw API.ErrorCode.badRequestImageSize }
        return size
    }

    private static func defaultMessagePlace(_ call: ServerCall) throws -> (ProductID, String) {
        let product = try MassExtensionRequest.subscription(
            call.text("productId"), in: call.store.configuration.catalogue)
        let locale = call.text("locale")
        guard RetentionLocale.isValid(locale) else { throw API.ErrorCode.invalidLocale }
        return (product, locale)
    }
}
