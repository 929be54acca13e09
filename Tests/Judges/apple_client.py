"""Calls the public methods of Apple's own client of the App Store Server API on a store. Only the client's URL is changed.

Reads one JSON object on standard input:
    {"url": "http://127.0.0.1:1234", "key": "<path of the .p8 file>", "keyID": "...", "issuerID": "...",
     "bundleID": "...", "root": "<path of the root's DER>", "client": "sync" or "async",
     "names": {"transaction": "...", "original": "...", "coins": "...", "app": "...", "order": "...",
               "product": "...", "group": "...", "testToken": "...", "performanceTest": "...", "now": 1767225600000}}

Prints one JSON object:
    {"calls": {"get_transaction_info": [{"type": "TransactionInfoResponse", "answer": {...}}], ...},
     "excused": {"async_close": {"reason": "..."}},
     "refusals": {"unknown transaction": [404, 4040010], ...}, "verified": 17, "faults": ["..."]}

Faults are: a public method that is neither called nor excused, a listed method that the client does not have, and a call
that fails, or that succeeds although the store should refuse it. Values that Apple's models do not have, and signed
documents that Apple's verifier refuses, are faults as well.

Exit status 0 without faults, 1 with some, 2 for an invalid request.

Needs the PyPI package app-store-server-library, and httpx for the asynchronous client.
"""

import asyncio
import inspect
import json
import struct
import sys
import uuid
import warnings
import zlib

import attrs
from appstoreserverlibrary import api_client
from appstoreserverlibrary.api_client import APIException, GetTransactionHistoryVersion
from appstoreserverlibrary.models.AccountTenure import AccountTenure
from appstoreserverlibrary.models.BulletPoint import BulletPoint
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.ConsumptionStatus import ConsumptionStatus
from appstoreserverlibrary.models.DefaultConfigurationRequest import DefaultConfigurationRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.HeaderPosition import HeaderPosition
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.LifetimeDollarsPurchased import LifetimeDollarsPurchased
from appstoreserverlibrary.models.LifetimeDollarsRefunded import LifetimeDollarsRefunded
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.Platform import Platform
from appstoreserverlibrary.models.PlayTime import PlayTime
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.RefundPreferenceV1 import RefundPreferenceV1
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody
from appstoreserverlibrary.models.UserStatus import UserStatus
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def calls(names):
    """Returns, for each method in the order of the calls, the arguments of each call."""
    original, product, now = names["original"], names["product"], names["now"]
    dates = {"startDate": now - 30 * 86_400_000, "endDate": now + 86_400_000}
    filtered = TransactionHistoryRequest(
        startDate=0, endDate=now + 86_400_000, productIds=[product, "nothing"],
        productTypes=[ProductType.AUTO_RENEWABLE, ProductType.CONSUMABLE], sort=Order.DESCENDING,
        subscriptionGroupIdentifiers=[names["group"]], inAppOwnershipType=InAppOwnershipType.PURCHASED, revoked=False)
    consumption_v1 = ConsumptionRequestV1(
        customerConsented=True, consumptionStatus=ConsumptionStatus.NOT_CONSUMED, platform=Platform.APPLE,
        sampleContentProvided=False, deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY,
        appAccountToken=str(uuid.uuid4()), accountTenure=AccountTenure.UNDECLARED, playTime=PlayTime.UNDECLARED,
        lifetimeDollarsRefunded=LifetimeDollarsRefunded.UNDECLARED,
        lifetimeDollarsPurchased=LifetimeDollarsPurchased.UNDECLARED, userStatus=UserStatus.ACTIVE,
        refundPreference=RefundPreferenceV1.NO_PREFERENCE)
    consumption = ConsumptionRequest(
        customerConsented=True, sampleContentProvided=True, deliveryStatus=DeliveryStatus.DELIVERED,
        consumptionPercentage=25_000, refundPreference=RefundPreference.GRANT_PRORATED)
    extension_of_all = MassExtendRenewalDateRequest(
        extendByDays=3, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, requestIdentifier="judge-mass",
        storefrontCountryCodes=["USA"], productId=product)
    extension_of_one = ExtendRenewalDateRequest(
        extendByDays=2, extendReasonCode=ExtendReasonCode.CUSTOMER_SATISFACTION, requestIdentifier="judge-one")
    return {
        "get_transaction_info": [(names["transaction"],), (original,)],
        "get_app_transaction_info": [(original,), (names["app"],)],
        "look_up_order_id": [(names["order"],), ("MUNKNOWN",)],
        "get_transaction_history": [
            (original, None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V2),
            (original, None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V1),
            (names["app"], None, filtered, GetTransactionHistoryVersion.V2),
        ],
        "get_refund_history": [(original, None)],
        "get_all_subscription_statuses": [(original, None), (names["app"], [Status.ACTIVE, Status.EXPIRED])],
        "send_consumption_data": [(names["coins"], consumption_v1)],
        "send_consumption_information": [(names["coins"], consumption)],
        "set_app_account_token": [(original, UpdateAppAccountTokenRequest(appAccountToken=str(uuid.uuid4())))],
        "finish_transaction": [(names["transaction"],)],
        "extend_subscription_renewal_date": [(original, extension_of_one)],
        "extend_renewal_date_for_all_active_subscribers": [(extension_of_all,)],
        "get_status_of_subscription_renewal_date_extensions": [("judge-mass", product)],
        "request_test_notification": [()],
        "get_test_notification_status": [(names["testToken"],)],
        "get_notification_history": [
            (None, NotificationHistoryRequest(**dates)),
            (None, NotificationHistoryRequest(transactionId=original, onlyFailures=True, **dates)),
            (None, NotificationHistoryRequest(
                notificationType=NotificationTypeV2.SUBSCRIBED, notificationSubtype=Subtype.INITIAL_BUY, **dates)),
        ],
        **retention_calls(names),
    }


def png(width, height, color=2):
    """Returns a black picture as a PNG file; color is the colour type of the header."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    samples = {2: 3, 6: 4}[color]
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes(width * samples)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


IMAGE, BULLET, SPARE = (uuid.UUID(int=number) for number in (1, 2, 3))
RICH, PLAIN = (uuid.UUID(int=number) for number in (4, 5))
UNKNOWN = uuid.UUID(int=99)


def message(**changes):
    """Returns a message with an image and a bullet point, and without the limits that Apple's model has."""
    with attrs.validators.disabled():
        point = BulletPoint(text=changes.pop("text", "t"), imageIdentifier=BULLET, altText="a")
        members = {
            "header": "h" * 66, "body": "b" * 144, "headerPosition": HeaderPosition.ABOVE_IMAGE,
            "image": UploadMessageImage(imageIdentifier=IMAGE, altText="a" * 150),
            "bulletPoints": [point] * changes.pop("points", 5)}
        return UploadMessageRequestBody(**{**members, **changes})


def long_text():
    with attrs.validators.disabled():
        return UploadMessageImage(imageIdentifier=IMAGE, altText="a" * 151)


def realtime_url(url):
    with attrs.validators.disabled():
        return RealtimeUrlRequest(realtimeURL=url)


def retention_calls(names):
    """Returns the calls of the Retention Messaging API, like calls()."""
    product = names["product"]
    default = DefaultConfigurationRequest(messageIdentifier=RICH)
    return {
        "upload_image": [
            (IMAGE, png(3840, 160)), (BULLET, png(64, 64), ImageSize.BULLET_POINT),
            (SPARE, png(3840, 2160), ImageSize.FULL_SIZE)],
        "get_image_list": [()],
        "upload_message": [(RICH, message()), (PLAIN, UploadMessageRequestBody(header="h", body="b"))],
        "get_message_list": [()],
        "configure_default_message": [(product, "en-US", default), (product, "de", default)],
        "get_default_message": [(product, "en-US")],
        "delete_default_message": [(product, "de")],
        "configure_realtime_url": [(RealtimeUrlRequest(realtimeURL="https://example.com/retention"),)],
        "get_realtime_url": [()],
        "initiate_performance_test": [(PerformanceTestRequest(originalTransactionId=names["original"]),)],
        "get_performance_test_results": [(names["performanceTest"],)],
        "delete_realtime_url": [()],
        "delete_message": [(PLAIN,)],
        "delete_image": [(SPARE,)],
    }


def excused():
    """Returns, for each excused method, the reason, and the arguments of a call that the store must refuse. If these are None,
    the method is not called."""
    return {"async_close": ("closes the asynchronous client without a request", None)}


def refused(names):
    """Returns, by title, the method and the arguments of each call that the store must refuse."""
    reversed_dates = TransactionHistoryRequest(startDate=2, endDate=1)
    product = names["product"]
    default = DefaultConfigurationRequest(messageIdentifier=UNKNOWN)
    return {
        "unknown transaction": ("get_transaction_info", ("77",)),
        "no transaction": ("get_transaction_info", ("x",)),
        "unknown revision": ("get_refund_history", (names["original"], "x")),
        "bad dates": (
            "get_transaction_history", (names["original"], None, reversed_dates, GetTransactionHistoryVersion.V2)),
        "unknown extension": ("get_status_of_subscription_renewal_date_extensions", ("nobody", names["product"])),
        "no image": ("upload_image", (UNKNOWN, b"no picture")),
        "transparent image": ("upload_image", (UNKNOWN, png(3840, 160, 6))),
        "small image": ("upload_image", (UNKNOWN, png(64, 64))),
        "known image": ("upload_image", (IMAGE, png(3840, 160))),
        "used image": ("delete_image", (IMAGE,)),
        "used bullet point": ("delete_image", (BULLET,)),
        "unknown image": ("delete_image", (UNKNOWN,)),
        "long header": ("upload_message", (UNKNOWN, message(header="h" * 67))),
        "long body": ("upload_message", (UNKNOWN, message(body="b" * 145))),
        "long alternative text": ("upload_message", (UNKNOWN, message(image=long_text()))),
        "long bullet point": ("upload_message", (UNKNOWN, message(text="t" * 67))),
        "six bullet points": ("upload_message", (UNKNOWN, message(points=6))),
        "header above no image": ("upload_message", (UNKNOWN, message(image=None))),
        "bullet point as image": (
            "upload_message", (UNKNOWN, message(image=UploadMessageImage(imageIdentifier=BULLET, altText="a")))),
        "known message": ("upload_message", (RICH, message())),
        "unknown message": ("delete_message", (UNKNOWN,)),
        "unknown default message": ("configure_default_message", (product, "en-US", default)),
        "default message of no subscription": ("configure_default_message", (names["coins"], "en-US", default)),
        "default message of no locale": ("get_default_message", (product, "en_US")),
        "no default message": ("get_default_message", (product, "de")),
        "default message deleted twice": ("delete_default_message", (product, "de")),
        "URL without TLS": ("configure_realtime_url", (realtime_url("http://example.com"),)),
        "long URL": ("configure_realtime_url", (realtime_url("https://example.com/" + "x" * 237),)),
        "no URL": ("get_realtime_url", ()),
        "URL deleted twice": ("delete_realtime_url", ()),
        "test without URL": (
            "initiate_performance_test", (PerformanceTestRequest(originalTransactionId=names["original"]),)),
        "test of no transaction": ("initiate_performance_test", (PerformanceTestRequest(originalTransactionId="x"),)),
        "results without identifier": ("get_performance_test_results", ("x",)),
        "results of no test": ("get_performance_test_results", (str(UNKNOWN),)),
    }


class Judge:
    def __init__(self, request):
        with open(request["root"], "rb") as file:
            root = file.read()
        with open(request["key"], "rb") as file:
            self.key = file.read()
        self.request = request
        self.verifier = SignedDataVerifier([root], False, Environment.SANDBOX, request["bundleID"])
        self.faults, self.verified = [], 0
        self.is_async = request["client"] == "async"
        self.kind = api_client.AsyncAppStoreServerAPIClient if self.is_async else api_client.AppStoreServerAPIClient

    def make_client(self, key=None):
        client = self.kind(
            key or self.key, self.request["keyID"], self.request["issuerID"], self.request["bundleID"],
            Environment.SANDBOX)
        client._base_url = self.request["url"]
        return client

    def plain(self, value, where):
        """Returns a decoded model as JSON. Verifies the signed documents in it, and reports unknown values of enumerations."""
        if attrs.has(type(value)):
            members = {}
            for field in attrs.fields(type(value)):
                member = getattr(value, field.name)
                typed = field.name[3:4].lower() + field.name[4:]
                if field.name.startswith("raw") and member is not None and getattr(value, typed, "") is None:
                    self.faults.append(f"{where}: {typed} is {member!r}, which Apple's model does not know")
                if member is not None:
                    members[field.name] = self.plain(member, where)
                    self.verify(field.name, member, where)
            return members
        if isinstance(value, (list, tuple)):
            return [self.plain(element, where) for element in value]
        if isinstance(value, dict):
            return {self.plain(name, where): self.plain(member, where) for name, member in value.items()}
        if isinstance(value, uuid.UUID):
            return str(value)
        return getattr(value, "value", value)

    def verify(self, name, document, where):
        decoders = {
            "signedTransactionInfo": self.verifier.verify_and_decode_signed_transaction,
            "signedTransactions": self.verifier.verify_and_decode_signed_transaction,
            "signedRenewalInfo": self.verifier.verify_and_decode_renewal_info,
            "signedAppTransactionInfo": self.verifier.verify_and_decode_app_transaction,
            "signedPayload": self.verifier.verify_and_decode_notification,
        }
        if name not in decoders:
            return
        for signed in document if isinstance(document, list) else [document]:
            try:
                self.plain(decoders[name](signed), f"{where}, {name}")
                self.verified += 1
            except VerificationException as error:
                self.faults.append(f"{where}: {name} is refused: {error.status.name}")

    async def call(self, client, method, arguments):
        answer = getattr(client, method)(*arguments)
        return await answer if inspect.isawaitable(answer) else answer

    async def judge(self):
        called, excused_methods = calls(self.request["names"]), excused()
        public = [name for name, _ in inspect.getmembers(self.kind, inspect.isfunction) if not name.startswith("_")]
        for name in public:
            if name not in called and name not in excused_methods:
                self.faults.append(f"{name} is neither called nor excused")
        for name in [*called, *excused_methods]:
            if name not in public and name != "async_close":
                self.faults.append(f"{name} is not a method of {self.kind.__name__}")
        client = self.make_client()
        report = {"calls": {}, "excused": {}, "refusals": {}}
        for name, argument_lists in called.items():
            report["calls"][name] = [await self.answer(client, name, arguments) for arguments in argument_lists]
        for name, (reason, arguments) in excused_methods.items():
            report["excused"][name] = {"reason": reason}
            if arguments is not None:
                status, code = await self.refusal(client, name, arguments)
                report["excused"][name].update(status=status, code=code)
        for title, (name, arguments) in refused(self.request["names"]).items():
            report["refusals"][title] = await self.refusal(client, name, arguments)
        other_key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        client_with_another_key = self.make_client(other_key)
        report["refusals"]["another key"] = await self.refusal(client_with_another_key, "get_transaction_info", ("77",))
        if self.is_async:
            await client.async_close()
            await client_with_another_key.async_close()
        report.update(verified=self.verified, faults=self.faults)
        return report

    async def answer(self, client, name, arguments):
        try:
            answer = await self.call(client, name, arguments)
        except Exception as error:
            self.faults.append(f"{name}: {error!r} {vars(error) if isinstance(error, APIException) else ''}")
            return None
        return {"type": type(answer).__name__, "answer": self.plain(answer, name)}

    async def refusal(self, client, name, arguments):
        try:
            await self.call(client, name, arguments)
        except APIException as error:
            return [error.http_status_code, error.raw_api_error]
        self.faults.append(f"{name}: the store accepted a call that it should refuse")
        return [200, None]


def main():
    try:
        judge = Judge(json.load(sys.stdin))
    except (ValueError, KeyError, TypeError, OSError) as error:
        print(f"apple_client: invalid request: {error!r}", file=sys.stderr)
        return 2
    # Deprecated methods are also called.
    warnings.simplefilter("ignore", DeprecationWarning)
    report = asyncio.run(judge.judge())
    json.dump(report, sys.stdout)
    print()
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
