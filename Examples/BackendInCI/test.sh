#!/usr/bin/env bash
# Tests backend.py against an App Store of its own. Needs souk on the PATH, and a python3 with app-store-server-library.
set -euo pipefail
cd "$(dirname "$0")"
WORK=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$WORK"' EXIT

# An App Store whose time stands still, on a port that was free.
souk simulate --catalog ../darkroom.storekit --bundle-id com.example.darkroom --data "$WORK/store" \
    --time-rate frozen > "$WORK/store.json" &
STORE=$(souk wait "$WORK/store.json")
store() { souk store --url "$STORE" "$@"; }

# The backend, with the store's root certificate and a key for its API; the store tells it what happens.
start_backend() {
    python3 backend.py "$WORK/store.json" "$1" > "$WORK/backend.json" &
    BACKEND_PID=$!
    BACKEND=$(souk wait "$WORK/backend.json")
}
start_backend 0
store settings set notificationsURL "$BACKEND/notifications"

# What the backend says of Anna.
ANNA=6c7ab0a5-7a0d-4a8f-9b2c-0d1f6f2f0a11
anna() { curl -sf "$BACKEND/customers/$ANNA"; }
expect() { anna | grep -q "$1" || { echo "line ${BASH_LINENO[0]}: expected $1, got $(anna)" >&2; return 1; }; }

# She subscribes, and may use the app.
store account create anna
expect '"access": false'
store --json buy anna com.example.darkroom.plus.monthly --app-account-token "$ANNA" > "$WORK/bought.json"
store notifications deliver
expect '"access": true'

# A year passes in an instant; she has renewed.
store advance P1Y
store notifications deliver
expect '"status": "ACTIVE"'

# Her card is refused: nothing for free after the grace period, and access again when it works.
store settings set gracePeriod 16d
store fail-billing anna com.example.darkroom.plus.monthly
store advance 10d
store notifications deliver
expect '"status": "BILLING_GRACE_PERIOD"'
store advance 16d
store notifications deliver
expect '"access": false'
store resolve-billing anna com.example.darkroom.plus.monthly
store notifications deliver
expect '"access": true'

# The backend is away while she gets her money back; the store tries again after an hour.
kill "$BACKEND_PID"; wait "$BACKEND_PID" || true
LATEST=$(store --json transactions anna | python3 -c 'import json,sys; print(json.load(sys.stdin)["transactions"][-1]["transactionID"])')
store refund "$LATEST"
if store notifications deliver; then echo "a notification arrived nowhere" >&2; exit 1; fi
start_backend "${BACKEND##*:}"
store advance 1h
store notifications deliver
expect '"status": "REVOKED"'
store notifications list

# What another store signed is refused, however true it looks.
souk simulate --catalog ../darkroom.storekit --bundle-id com.example.darkroom --data "$WORK/other" \
    --time-rate frozen --notifications-url http://127.0.0.1:1/ > "$WORK/other.json" &
OTHER=$(souk wait "$WORK/other.json")
souk store --url "$OTHER" account create eve
souk store --url "$OTHER" buy eve com.example.darkroom.plus.monthly --app-account-token "$ANNA"
if souk store --url "$OTHER" notifications deliver; then echo "a notification arrived nowhere" >&2; exit 1; fi
souk store --url "$OTHER" --json notifications list | python3 -c 'import json,sys
print(json.dumps({"signedPayload": json.load(sys.stdin)["notifications"][0]["signedPayload"]}))' > "$WORK/forged.json"
STATUS=$(curl -s -o /dev/null -w '%{http_code}' -d @"$WORK/forged.json" "$BACKEND/notifications")
[ "$STATUS" = 400 ] || { echo "what another store signed was answered $STATUS" >&2; exit 1; }
expect '"status": "REVOKED"'
echo "the backend does what it should"
