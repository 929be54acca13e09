#!/usr/bin/env bash
# Tests backend.py against its own App Store simulator. Needs souk on the PATH, and a python3 with app-store-server-library.
set -euo pipefail
cd "$(dirname "$0")"
WORK=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$WORK"' EXIT

# An App Store whose clock moves only when the test advances it, on a free port.
souk simulate --catalog ../darkroom.storekit --bundle-id com.example.darkroom --data "$WORK/store" \
    --time-rate frozen > "$WORK/store.json" &
STORE=$(souk wait "$WORK/store.json")
store() { souk store --url "$STORE" "$@"; }

# The backend, with the store's root certificate and a key for its API. The store sends notifications to it.
start_backend() {
    python3 backend.py "$WORK/store.json" "$1" > "$WORK/backend.json" &
    BACKEND_PID=$!
    BACKEND=$(souk wait "$WORK/backend.json")
}
start_backend 0
store settings set notificationsURL "$BACKEND/notifications"

# The answer of the backend about Anna.
ANNA=6c7ab0a5-7a0d-4a8f-9b2c-0d1f6f2f0a11
anna() { curl -sf "$BACKEND/customers/$ANNA"; }
expect() { anna | grep -q "$1" || { echo "line ${BASH_LINENO[0]}: expected $1, got $(anna)" >&2; return 1; }; }

# Anna subscribes and gets access.
store account create anna
expect '"access": false'
store --json buy anna com.example.darkroom.plus.monthly --app-account-token "$ANNA" > "$WORK/bought.json"
store notifications deliver
expect '"access": true'

# After a year, the subscription has renewed.
store advance P1Y
store notifications deliver
expect '"status": "ACTIVE"'

# A payment fails: access in the grace period, none after it, and access again when the payment succeeds.
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

# A refund while the backend is stopped: the store sends the notification again after an hour.
kill "$BACKEND_PID"; wait "$BACKEND_PID" || true
LATEST=$(store --json transactions anna | python3 -c 'import json,sys; print(json.load(sys.stdin)["transactions"][-1]["transactionID"])')
store refund "$LATEST"
if store notifications deliver; then echo "deliver succeeded although the backend is stopped" >&2; exit 1; fi
start_backend "${BACKEND##*:}"
store advance 1h
store notifications deliver
expect '"status": "REVOKED"'
store notifications list

# A notification that another store signed is refused, although its content is valid.
souk simulate --catalog ../darkroom.storekit --bundle-id com.example.darkroom --data "$WORK/other" \
    --time-rate frozen --notifications-url http://127.0.0.1:1/ > "$WORK/other.json" &
OTHER=$(souk wait "$WORK/other.json")
souk store --url "$OTHER" account create eve
souk store --url "$OTHER" buy eve com.example.darkroom.plus.monthly --app-account-token "$ANNA"
if souk store --url "$OTHER" notifications deliver; then echo "deliver succeeded without a receiver" >&2; exit 1; fi
souk store --url "$OTHER" --json notifications list | python3 -c 'import json,sys
print(json.dumps({"signedPayload": json.load(sys.stdin)["notifications"][0]["signedPayload"]}))' > "$WORK/forged.json"
STATUS=$(curl -s -o /dev/null -w '%{http_code}' -d @"$WORK/forged.json" "$BACKEND/notifications")
[ "$STATUS" = 400 ] || { echo "the notification of another store was answered with $STATUS" >&2; exit 1; }
expect '"status": "REVOKED"'
echo "the backend does what it should"
