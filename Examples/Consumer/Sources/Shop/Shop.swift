import Foundation
import InAppStore

/// Sells a subscription at the store of `SOUK_STORE_URL`. Without this variable it prints what is missing.
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
