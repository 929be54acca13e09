import Foundation
import HTTPCore
import Purchases

/// A client of the promotional codes' backend.
struct PromoCodeService: Sendable {
    let baseURL: String
    let key: String
    let transport: any HTTPTransport

    /// Returns `nil` when there is no such code.
    func describe(_ code: String) async throws -> CodeDescription? {
        do {
            return try await ask(.get, "/codes/\(escaped(code))", CodeDescription.self)
        } catch let error as PurchaseError where error.code == .unknownCode {
            return nil
        }
    }

    func redeem(_ code: String, for customer: CustomerID) async throws -> Redemption {
        let body = try WireJSON.encode(RedeemCodeRequest(customer: customer, code: code))
        return try await ask(.post, "/redemptions", Redemption.self, body: body)
    }

    func redemptions(of customer: CustomerID) async throws -> [Redemption] {
        try await ask(.get, "/customers/\(escaped(customer.rawValue))/redemptions", RedemptionsAnswer.self).redemptions
    }

    private func ask<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ type: Answer.Type, body: [UInt8] = []
    ) async throws -> Answer {
        let request = HTTPRequest(
            method: method, url: baseURL + path,
            headers: ["Authorization": "Bearer \(key)", "Content-Type": "application/json"],
            body: .bytes(body), timeout: .seconds(8))
        let (status, bytes) = try await send(request)
        guard (200..<300).contains(status) else { throw PurchaseError(status: status) }
        do {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw PurchaseError(.decodingError, underlying: error)
        }
    }

    private func send(_ request: HTTPRequest) async throws -> (status: Int, bytes: [UInt8]) {
        do {
            let response = try await transport.send(request)
            return (response.status, try await response.body.collect(upTo: 1 << 20))
        } catch {
            try Task.checkCancellation()
            throw PurchaseError(.unreachable, underlying: error)
        }
    }

    private func escaped(_ segment: String) -> String {
        segment.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? segment
    }
}

extension PurchaseError.Code {
    /// There is no such code.
    static let unknownCode = Self(rawValue: "promo.unknownCode")
    /// As many customers as the offer allows have redeemed the code.
    static let codeUsedUp = Self(rawValue: "promo.codeUsedUp")
}

extension PurchaseError {
    fileprivate init(status: Int) {
        switch status {
        case 401: self.init(.invalidKey)
        case 404: self.init(.unknownCode, "There is no such code; check its letters.")
        case 410: self.init(.codeUsedUp, "The code is used up.")
        case 500...: self.init(.serverError)
        default: self.init(.protocolError)
        }
    }
}
