@_exported import StoreModel
@_exported import struct Purchases.PurchaseError
