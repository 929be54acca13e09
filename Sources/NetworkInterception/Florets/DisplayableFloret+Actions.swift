import PluginHub
import Primitives

extension DisplayableFloret {
    /// The error for an action that the floret's screen does not have.
    func unknown(_ action: ViewDocument.Action) -> InterceptionError {
        InterceptionError(.unknownAction, "The floret \"\(name)\" has no action \"\(action.id)\".")
    }
}

extension ViewDocument.Action {
    /// The value `name` as a Boolean. Throws `InterceptionError.invalidSetting` if the value is not a Boolean.
    func bool(_ name: String) throws -> Bool {
        guard let value = values[name]?.boolValue else { throw invalid(name, "true or false") }
        return value
    }

    func text(_ name: String) throws -> String {
        guard let value = values[name]?.stringValue else { throw invalid(name, "a string") }
        return value
    }

    /// The value `name` as an index of a list with `count` entries.
    func index(_ name: String, below count: Int) throws -> Int {
        guard let value = values[name]?.intValue, (0..<count).contains(value) else {
            throw invalid(name, "a whole number from 0 to \(count - 1)")
        }
        return value
    }

    func invalid(_ name: String, _ expectation: String) -> InterceptionError {
        InterceptionError(.invalidSetting, "The value \"\(name)\" of the action \"\(id)\" must be \(expectation).")
    }
}
