#if canImport(StoreKit)
    import Foundation
    import StoreKit
    import StoreModel

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        import UIKit

        extension StoreKitConnection.Configuration {
            /// The scene that is active in the foreground.
            @MainActor static var activeScene: UIWindowScene? {
                UIApplication.shared.connectedScenes.lazy.compactMap { $0 as? UIWindowScene }
                    .first { $0.activationState == .foregroundActive }
            }

            /// Shows the sheets for subscriptions and refunds in this scene.
            mutating func showSheets(in scene: @escaping @MainActor @Sendable () -> UIWindowScene?) {
                showManageSubscriptions = { group in
                    guard let scene = scene() else { throw StoreFailure.noPresentationContext }
                    if let group {
                        try await AppStore.showManageSubscriptions(in: scene, subscriptionGroupID: group)
                    } else {
                        try await AppStore.showManageSubscriptions(in: scene)
                    }
                }
                beginRefundRequest = { transaction in
                    guard let scene = scene() else { throw StoreFailure.noPresentationContext }
                    return try await StoreKit.Transaction.beginRefundRequest(for: transaction, in: scene)
                }
            }
        }
    #elseif canImport(AppKit) && !targetEnvironment(macCatalyst)
        import AppKit

        extension StoreKitConnection.Configuration {
            /// Shows the sheet for refunds from this controller. Opens the App Store for subscriptions, because most
            /// versions of macOS have no sheet for them.
            mutating func showSheets(from controller: @escaping @MainActor @Sendable () -> NSViewController?) {
                showManageSubscriptions = { _ in
                    guard let page = URL(string: "https://apps.apple.com/account/subscriptions"),
                        NSWorkspace.shared.open(page)
                    else { throw StoreFailure.noPresentationContext }
                }
                beginRefundRequest = { transaction in
                    guard let controller = controller() else { throw StoreFailure.noPresentationContext }
                    return try await StoreKit.Transaction.beginRefundRequest(for: transaction, in: controller)
                }
            }
        }
    #endif

    extension StoreKitConnection {
        /// Shows Apple's sheet for subscriptions. On macOS, opens a page of the App Store and returns at once.
        ///
        /// - Parameter subscriptionGroupID: The group whose subscriptions are shown; `nil` shows all.
        /// - Throws: `StoreFailure`: `unsupported` without a place to show the sheet, or the failure of StoreKit;
        ///   `CancellationError`.
        public func showManageSubscriptions(subscriptionGroupID: String?) async throws {
            guard let show = configuration.showManageSubscriptions else { throw StoreFailure.noPresentationContext }
            try await StoreFailure.translating { try await show(subscriptionGroupID) }
        }

        public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
            guard let request = configuration.beginRefundRequest else { throw StoreFailure.noPresentationContext }
            guard let id = UInt64(transaction.rawValue) else {
                throw StoreFailure(
                    code: .refundRequestFailed, reason: "The App Store has no transaction \"\(transaction)\".")
            }
            return RefundRequestStatus(try await StoreFailure.translating { try await request(id) })
        }
    }

    extension RefundRequestStatus {
        fileprivate init(_ status: StoreKit.Transaction.RefundRequestStatus) {
            switch status {
            case .success: self = .success
            case .userCancelled: self = .userCancelled
            @unknown default: self.init(rawValue: "\(status)")
            }
        }
    }
#endif
