import Foundation
import Primitives

extension AppStoreServerAPI {
    /// Where a monthly billed commitment stands.
    public struct TransactionCommitmentInfo: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            billingPeriodNumber: Int? = nil,
            commitmentExpiresDate: Date? = nil,
            commitmentPrice: Int? = nil,
            totalBillingPeriods: Int? = nil
        ) {
            fields = [:]
            self.billingPeriodNumber = billingPeriodNumber
            self.commitmentExpiresDate = commitmentExpiresDate
            self.commitmentPrice = commitmentPrice
            self.totalBillingPeriods = totalBillingPeriods
        }

        /// Which billing period this transaction pays, counted from 1.
        public var billingPeriodNumber: Int? {
            get { self["billingPeriodNumber"] }
            set { self["billingPeriodNumber"] = newValue }
        }

        /// When the commitment ends.
        public var commitmentExpiresDate: Date? {
            get { self["commitmentExpiresDate"] }
            set { self["commitmentExpiresDate"] = newValue }
        }

        /// What the whole commitment costs, in thousandths of the currency unit.
        public var commitmentPrice: Int? {
            get { self["commitmentPrice"] }
            set { self["commitmentPrice"] = newValue }
        }

        /// How many billing periods it has.
        public var totalBillingPeriods: Int? {
            get { self["totalBillingPeriods"] }
            set { self["totalBillingPeriods"] = newValue }
        }

        public static let schema = PayloadSchema([
            "billingPeriodNumber": .integer,
            "commitmentExpiresDate": .date,
            "commitmentPrice": .integer,
            "totalBillingPeriods": .integer,
        ])
    }

    /// What follows a monthly billed commitment.
    public struct RenewalCommitmentInfo: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            commitmentAutoRenewProductId: String? = nil,
            commitmentAutoRenewStatus: AutoRenewStatus? = nil,
            commitmentRenewalBillingPlanType: BillingPlanType? = nil,
            commitmentRenewalDate: Date? = nil,
            commitmentRenewalPrice: Int? = nil
        ) {
            fields = [:]
            self.commitmentAutoRenewProductId = commitmentAutoRenewProductId
            self.commitmentAutoRenewStatus = commitmentAutoRenewStatus
            self.commitmentRenewalBillingPlanType = commitmentRenewalBillingPlanType
            self.commitmentRenewalDate = commitmentRenewalDate
            self.commitmentRenewalPrice = commitmentRenewalPrice
        }

        /// The product it renews to.
        public var commitmentAutoRenewProductId: String? {
            get { self["commitmentAutoRenewProductId"] }
            set { self["commitmentAutoRenewProductId"] = newValue }
        }

        /// Whether it renews.
        public var commitmentAutoRenewStatus: AutoRenewStatus? {
            get { self["commitmentAutoRenewStatus"] }
            set { self["commitmentAutoRenewStatus"] = newValue }
        }

        /// How the next one is billed.
        public var commitmentRenewalBillingPlanType: BillingPlanType? {
            get { self["commitmentRenewalBillingPlanType"] }
            set { self["commitmentRenewalBillingPlanType"] = newValue }
        }

        /// When it renews.
        public var commitmentRenewalDate: Date? {
            get { self["commitmentRenewalDate"] }
            set { self["commitmentRenewalDate"] = newValue }
        }

        /// What the next one costs, in thousandths of the currency unit.
        public var commitmentRenewalPrice: Int? {
            get { self["commitmentRenewalPrice"] }
            set { self["commitmentRenewalPrice"] = newValue }
        }

        public static let schema = PayloadSchema([
            "commitmentAutoRenewProductId": .text,
            "commitmentAutoRenewStatus": .integer,
            "commitmentRenewalBillingPlanType": .text,
            "commitmentRenewalDate": .date,
            "commitmentRenewalPrice": .integer,
        ])
    }
}
