import Foundation

// On Apple's platforms these types come from Core Foundation, and `as` converts Swift's types to them.
// Here they are names of Swift's types.

/// https://developer.apple.com/documentation/corefoundation/cfstring
public typealias CFString = String

/// https://developer.apple.com/documentation/corefoundation/cfdictionary
public typealias CFDictionary = [String: Any]

/// https://developer.apple.com/documentation/corefoundation/cftyperef
public typealias CFTypeRef = AnyObject

/// https://developer.apple.com/documentation/kernel/osstatus
public typealias OSStatus = Int32

/// https://developer.apple.com/documentation/security/secitemcopymatching(_:_:)
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    declared()
}

/// https://developer.apple.com/documentation/security/secitemadd(_:_:)
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    declared()
}

/// https://developer.apple.com/documentation/security/secitemupdate(_:_:)
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus { declared() }

/// https://developer.apple.com/documentation/security/secitemdelete(_:)
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { declared() }

/// https://developer.apple.com/documentation/security/ksecclass
public var kSecClass: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecclassgenericpassword
public var kSecClassGenericPassword: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattrservice
public var kSecAttrService: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattraccount
public var kSecAttrAccount: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattraccessgroup
public var kSecAttrAccessGroup: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattraccessible
public var kSecAttrAccessible: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattraccessiblewhenunlockedthisdeviceonly
public var kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecattraccessibleafterfirstunlockthisdeviceonly
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecusedataprotectionkeychain
public var kSecUseDataProtectionKeychain: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecmatchlimit
public var kSecMatchLimit: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecmatchlimitone
public var kSecMatchLimitOne: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecreturndata
public var kSecReturnData: CFString { declared() }
/// https://developer.apple.com/documentation/security/ksecvaluedata
public var kSecValueData: CFString { declared() }

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
