import AppStoreSimulator
import Foundation
import StoreModel

/// The products of the demonstration: the given catalogue, or the photo app that comes with `souk`.
struct DemoProducts: Sendable {
    let catalogue: Catalogue
    /// The path of the catalogue.
    let file: String
    /// The features of each product. Without a file, each product except consumables gives a feature with the product's
    /// id.
    let features: FeatureMap
    let featureFile: String?
    /// The path of the catalogue of Google Play; `nil` with a given catalogue.
    let playFile: String?

    /// Reads the catalogue at the path `named`. For `-`, copies standard input to `folder`; for `nil`, the catalogue
    /// that comes with `souk`. Throws `UsageError` for a catalogue that cannot be read.
    init(_ named: String?, in folder: DataFolder) throws {
        switch named {
        case nil:
            file = folder.file("darkroom.storekit")
            try OutputFile.replace(file, with: PackageResources.darkroom_storekit)
            let map = folder.file("darkroom.features.json")
            try OutputFile.replace(map, with: PackageResources.darkroom_features_json)
            features = try CatalogueCommands.featureMap(in: map)
            featureFile = map
            let play = folder.file("darkroom.play.json")
            try OutputFile.replace(play, with: PackageResources.darkroom_play_json)
            playFile = play
        case "-":
            file = folder.file("catalogue.storekit")
            try OutputFile.replace(file, with: InputFile.read("-"))
            (features, featureFile, playFile) = (FeatureMap(), nil, nil)
        case let path?:
            file = path
            (features, featureFile, playFile) = (FeatureMap(), nil, nil)
        }
        catalogue = try CatalogueCommands.catalogue(in: file)
    }

    /// The first feature of an item; the item's id if the map has none.
    func feature(of item: CatalogueItem) -> String {
        features.features(of: item.id, kind: item.kind).first ?? item.id.rawValue
    }
}
