import Foundation
import SignedData

/// A backend that verifies signed data of the store and uses nothing else of Souk.
@main
enum SignatureVerification {
    static func main() throws {
        let verifier = SignedDataVerifier(
            configuration: .init(bundleIDs: ["com.example.darkroom"], environments: [.production]))
        let forged = try JWSSigner(.generate()).sign(Array(#"{"bundleId":"com.example.darkroom"}"#.utf8))
        do throws(SignedDataError) {
            _ = try verifier.transaction(forged)
            exit(1)
        } catch {
            print("refused, as it should be: \(error)")
            exit(error.code == .untrustedRoot ? 0 : 1)
        }
    }
}
