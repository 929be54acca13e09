import InAppStore

/// The app as commands, which are buttons in a real app.
@main
enum Darkroom {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard let command = words.first else { return print("shop, buy, unlock, show, fetch, restore or complete?") }
        do {
            let store = try openStore()
            await perform(command, words.dropFirst().first ?? "", with: store)
            await store.close()
        } catch {
            print("The shop is closed: \(error)")
        }
    }

    static func perform(_ command: String, _ product: String, with store: Store) async {
        do {
            switch command {
            case "shop": try await showShop(store)
            case "buy": try await buy(product, from: store)
            case "unlock": try await unlockEverything(in: store)
            case "show": await showWhatIsOurs(store)
            case "fetch": try await fetchContent(of: product, from: store)
            case "restore": try await restore(store)
            case "complete": await completePurchase(of: product, in: store)
            default: print("There is no command \(command).")
            }
        } catch {
            if let words = words(for: error) { print(words) }
        }
    }
}
