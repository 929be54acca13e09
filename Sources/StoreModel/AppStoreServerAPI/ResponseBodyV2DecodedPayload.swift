import Foundation
import Primitives

/// What a signed App Store Server Notification (version 2) says. Exactly one of `data`, `summary`,
/// `externalPurchaseToken` and `appData` is there.
public struct ResponseBodyV2DecodedPayload: AppStorePayload {
    public var fields: JSONMembers
    public init(unchecked fields: JSONMembers) { self.fields = fields }

    /// Every argument left out is absent from the JSON.
    public init(
        notificationType: AppStoreServerAPI.NotificationType? = nil,
        subtype: AppStoreServerAPI.Subtype? = nil,
        notificationUUID: String? = nil,
        data: AppStoreServerAPI.NotificationData? = nil,
        summary: AppStoreServerAPI.NotificationSummary? = nil,
        externalPurchaseToken: AppStoreServerAPI.ExternalPurchaseToken? = nil,
        appData: AppStoreServerAPI.NotificationAppData? = nil,
        version: String? = nil,
        signedDate: Date? = nil
    ) {
        fields = [:]
        self.notificationType = notificationType
        self.subtype = subtype
        self.notificationUUID = notificationUUID
        self.data = data
        self.summary = summary
        self.externalPurchaseToken = externalPurchaseToken
        self.appData = appData
        self.version = version
        self.signedDate = signedDate
    }

    /// What happened.
    public var notificationType: AppStoreServerAPI.NotificationType? {
        get { self["notificationType"] }
        set { self["notificationType"] = newValue }
    }

    /// The details.
    public var subtype: AppStoreServerAPI.Subtype? {
        get { self["subtype"] }
        set { self["subtype"] = newValue }
    }

    /// The identifier of the notification; sent again, it is the same.
    public var notificationUUID: String? {
        get { self["notificationUUID"] }
        set { self["notificationUUID"] = newValue }
    }

    /// About one purchase or app.
    public var data: AppStoreServerAPI.NotificationData? {
        get { self["data"] }
        set { self["data"] = newValue }
    }

    /// About a finished mass extension.
    public var summary: AppStoreServerAPI.NotificationSummary? {
        get { self["summary"] }
        set { self["summary"] = newValue }
    }

    /// About a purchase outside the App Store.
    public var externalPurchaseToken: AppStoreServerAPI.ExternalPurchaseToken? {
        get { self["externalPurchaseToken"] }
        set { self["externalPurchaseToken"] = newValue }
    }

    /// About an app transaction.
    public var appData: AppStoreServerAPI.NotificationAppData? {
        get { self["appData"] }
        set { self["appData"] = newValue }
    }

    /// The version of notifications, `2.0`.
    public var version: String? {
        get { self["version"] }
        set { self["version"] = newValue }
    }

    /// When the store signed this.
    public var signedDate: Date? {
        get { self["signedDate"] }
        set { self["signedDate"] = newValue }
    }

    public static let schema = PayloadSchema([
        "notificationType": .text,
        "subtype": .text,
        "notificationUUID": .text,
        "data": .object(AppStoreServerAPI.NotificationData.schema),
        "summary": .object(AppStoreServerAPI.NotificationSummary.schema),
        "externalPurchaseToken": .object(AppStoreServerAPI.ExternalPurchaseToken.schema),
        "appData": .object(AppStoreServerAPI.NotificationAppData.schema),
        "version": .text,
        "signedDate": .date,
    ])
}
