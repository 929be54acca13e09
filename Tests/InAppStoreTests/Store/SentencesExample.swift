import Foundation
import InAppStore

func showErrorsInGerman(from bundle: Bundle) {
    CustomerSentences.lookUp = CustomerSentences.strings(of: bundle, table: "SoukErrors")
}

func sentenceForCustomers(about error: any Error) -> String { error.localizedDescription }
