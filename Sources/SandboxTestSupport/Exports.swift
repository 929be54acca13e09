@_exported import AppStoreSimulator
@_exported import EntitlementServer
@_exported import InAppStore
@_exported import Purchases
@_exported import StoreModel
