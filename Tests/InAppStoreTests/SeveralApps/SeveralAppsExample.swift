import InAppStore

func withSiblings(_ configuration: inout StoreConfiguration, over shared: any SecureStorage) {
    configuration.sharedStorage = shared
    configuration.application = "com.example.darkroom"
    configuration.bundledApplications = ["com.example.studio"]
    configuration.multiAppSubscriptionClassifier = ServiceLevelMarkerClassifier(marker: "MultiApp")
}

func isStudioSubscriber(_ shared: any SecureStorage) -> Bool {
    SharedUserInfoReader(storage: shared).isSubscriber(ofApp: "com.example.studio")
}
