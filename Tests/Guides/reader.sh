# What the shell of a reader knows; GuideSession puts it before the blocks of a document.
# $FOLDER is the reader's own, $REPOSITORY this checkout, $BUILT has the programs that were built.

trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# SwiftPM cannot build the package whose tests are running: what was built takes its place.
swift() {
    case "$*" in
    "build -c release --product souk")
        mkdir -p .build/release
        ln -sf "$BUILT/souk" .build/release/souk
        ;;
    "run Darkroom "*)
        shift 2
        "$BUILT/FirstPurchase" "$@"
        ;;
    "run")
        "$BUILT/$(basename "$PWD")"
        ;;
    *)
        echo "nothing takes the place of swift $*" >&2
        return 1
        ;;
    esac
}

# The commands of the Makefile build for minutes, and run these tests: that they are there is what can be tried.
make() { command make -n "$@" > /dev/null; }

# A service in the foreground runs until the reader has seen where it listens, and presses Ctrl-C.
souk() {
    local line service
    case "$* " in
    "simulate "* | "serve "* | "inspect "* | "intercept "* | "demo "*"--keep "* | "demo "*"--inspect "*)
        # In the background it is the process that the shell knows, so that it ends with the shell.
        [ "$BASHPID" = "$$" ] || exec "$BUILT/souk" "$@"
        exec 8< <(exec "$BUILT/souk" "$@")
        service=$!
        while read -r line <&8 && [[ $line != *listening* && $line != *Ctrl-C* ]]; do :; done
        [[ $line == *listening* || $line == *Ctrl-C* ]]
        kill "$service"
        cat <&8 > /dev/null
        wait "$service"
        return
        ;;
    esac
    "$BUILT/souk" "$@"
}

# A folder like a checkout, in which a reader may write.
checkout() {
    mkdir "$FOLDER/souk"
    tar -C "$REPOSITORY" --exclude .build -cf - Examples Makefile Scripts | tar -C "$FOLDER/souk" -xf -
    ln -s "$REPOSITORY/Sources" "$FOLDER/souk/Sources"
}

# A simulator and a server that trusts it, for documents that begin where both run; $SERVER, $STORE and a customer.
running() {
    souk simulate --catalog Examples/darkroom.storekit --data given --port 8081 > store.json &
    STORE=$(souk wait store.json)
    souk serve --bundle-id com.example.souk --environment sandbox --root given/root.der --clock "$STORE" "$@" \
        --database sqlite:given/ledger.sqlite > server.json &
    SERVER=$(souk wait server.json)
    cp given/ledger.sqlite.com.example.souk.secret-key secret-key
    souk store --url "$STORE" account create ada
    DEVICE=$(curl -sf -H 'Content-Type: application/json' -d '{"account": "ada"}' "$STORE/store/v1/devices" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["deviceID"])')
    souk store --url "$STORE" buy ada com.example.darkroom.plus.monthly > bought
}
