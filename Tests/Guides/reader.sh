# Functions for the shell that runs the blocks of a document. GuideSession puts them before the blocks.
# $FOLDER is the temporary folder of the session, $REPOSITORY this checkout, and $BUILT the folder of the built programs.

trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# SwiftPM cannot build the package while it runs the package's tests, so these commands use the built programs.
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
        echo "reader.sh has no replacement for: swift $*" >&2
        return 1
        ;;
    esac
}

# The targets of the Makefile build for minutes, and some run these tests. So this checks only that a target exists.
make() { command make -n "$@" > /dev/null; }

# Runs souk. Ends a service in the foreground as soon as it prints where it listens or names Ctrl-C.
souk() {
    local line service
    case "$* " in
    "simulate "* | "serve "* | "inspect "* | "intercept "* | "demo "*"--keep "* | "demo "*"--inspect "*)
        # In the background, the service replaces the subshell, so that the trap above ends it.
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

# Creates $FOLDER/souk, a copy of the checkout in which a document may write. Sources is a link.
checkout() {
    mkdir "$FOLDER/souk"
    tar -C "$REPOSITORY" --exclude .build -cf - Examples Makefile Scripts | tar -C "$FOLDER/souk" -xf -
    ln -s "$REPOSITORY/Sources" "$FOLDER/souk/Sources"
}

# Starts a simulator and a server that trusts it, for documents that assume both. Sets $STORE, $SERVER and $DEVICE, the
# device of the account ada, which buys a subscription.
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
