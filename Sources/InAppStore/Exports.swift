@_exported import StoreModel
