import AppStoreSimulator
import Foundation
import StoreModel

/// What the demonstration sells: the catalogue that was named, or the photo app that comes with `souk`.
struct DemoProducts: Sendable {
    let catalogue: Catalogue
    /// Where the catalogue lies.
    let file: String
    /// Which products give which features; without a file each gives one of its own name.
    let features: FeatureMap
    let featureFile: String?

    /// Throws `Misuse` for a catalogue that cannot be read. What comes with `souk` is unpacked into `folder`.
    init(_ named: String?, in folder: DataFolder) throws {
        switch named {
        case nil:
            file = folder.file("darkroom.storekit")
            try OutputFile.replace(file, with: PackageResources.darkroom_storekit)
            let map = folder.file("darkroom.features.json")
            try OutputFile.replace(map, with: PackageResources.darkroom_features_json)
            features = try CatalogueCommands.featureMap(in: map)
            featureFile = map
        case "-":
            file = folder.file("catalogue.storekit")
            try OutputFile.replace(file, with: InputFile.read("-"))
            (features, featureFile) = (FeatureMap(), nil)
        case let path?:
            file = path
            (features, featureFile) = (FeatureMap(), nil)
        }
        catalogue = try CatalogueCommands.catalogue(in: file)
    }

    /// The first feature that an item gives; its own name where the map has none.
    func feature(of item: CatalogueItem) -> String {
        features.features(of: item.id, kind: item.kind).first ?? item.id.rawValue
    }
}
