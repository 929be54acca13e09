import Foundation
import InAppStore

/// Sells a subscription at the App Store simulator that `SOUK_STORE_URL` names. Without this variable, prints what is
/// missing.
@main
enum Shop {
    static func main() async {
        do {
            try await sellPlus()
        } catch {
            print(error)
            let hasStore = ProcessInfo.processInfo.environment["SOUK_STORE_URL"] != nil
            exit(hasStore ? 1 : 0)
        }
    }
}
