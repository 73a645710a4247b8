"""Uses every call of the Python SDK against a running system, as a shop and as an institution do."""

import base64
import json
import os
import random
import time
import unittest
import uuid
from decimal import Decimal
from urllib.request import urlopen

from payweave import (
    Payweave,
    PayweaveError,
    SealingKey,
    WaitError,
    seal_value,
    verify_onboarding_callback,
)

with open(os.path.join(os.environ["PAYWEAVE_DATA_DIR"], "sandbox.json")) as file:
    SANDBOX = json.load(file)
DEMO = SANDBOX["projects"]["demo"]
INSTITUTION = "Demo Wallet"
KEYS = SANDBOX["institutions"][INSTITUTION]
KEY = SealingKey(KEYS["key_id"], KEYS["shared_key"])
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def unique(prefix):
    return f"{prefix}-{uuid.uuid4()}"


def person(number):
    return f"+120255501{number:02}"


def strangers_number():
    return f"+1868{random.randint(2_000_000, 9_999_999)}"


def order(mobile_number=person(20), **more):
    payer = {"payment_channel": "payment_link", "payment_method": "wallet"}
    return {
        "id": unique("sdk"),
        "amount": Decimal("25.00"),
        "currency": "USD",
        "payers": [{**payer, "mobile_number": mobile_number}],
        **more,
    }


class Receiver:
    """A receiver of pushes at the simulator."""

    def __init__(self):
        self.tag = unique("tag")
        self.url = f"{SANDBOX['simulator_url']}/receivers/ok/{self.tag}"

    def first(self):
        """The first push, once it has come."""
        end = time.monotonic() + 30
        while True:
            with urlopen(f"{SANDBOX['simulator_url']}/receivers/log?tag={self.tag}") as answer:
                requests = json.load(answer)["requests"]
            if requests or time.monotonic() > end:
                return requests[0]["headers"], requests[0]["body"].encode()
            time.sleep(0.1)


class System(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.payweave = Payweave(
            base_url=SANDBOX["base_url"],
            subscription_key=DEMO["subscription_key"],
            api_key=DEMO["api_key"],
            origin_country="US",
            ip_address="127.0.0.1",
        )
        cls.addClassCleanup(cls.payweave.close)

    def test_a_shop_creates_follows_lists_and_refunds_a_payment_and_confirms_its_pushes(self):
        payments, deliveries = self.payweave.payments, self.payweave.deliveries
        inbox = Receiver()
        request = order(person(1), urls={"callback": inbox.url})
        created = payments.create(request)
        self.assertEqual(payments.create(request), created)
        id = created["id"]
        snapshot = payments.wait_for(id, "paid", every=0.1)
        self.assertEqual(snapshot["payment_details"]["amount"], "25.00")
        [listed] = payments.list({"transaction_id": request["id"]})
        self.assertEqual((listed["payment_details_id"], listed["paid"]), (id, "25.00"))
        push, _ = payments.confirm_push(*inbox.first())
        self.assertEqual((push.kind, push.transaction_id), ("callback", request["id"]))
        self.assertEqual(payments.refund(id, "Out of stock")["status"], "Refunded")
        types = [event["type"] for event in payments.events(id)]
        self.assertIn("payment_refunded", types)
        found = deliveries.list({"payment_details_id": id}).take(10)
        self.assertIn(push.delivery_id, [delivery["delivery_id"] for delivery in found])
        delivery = deliveries.get(push.delivery_id)
        self.assertEqual(json.loads(delivery["body"])["status"], "paid")
        self.assertEqual(deliveries.resend(push.delivery_id)["delivery_id"], push.delivery_id)

    def test_a_refusal_has_its_reason(self):
        payments = self.payweave.payments
        id = payments.create(order())["id"]
        self.assertEqual(payments.cancel(id)["status"], "Cancelled")
        with self.assertRaises(PayweaveError) as caught:
            payments.refund(id)
        self.assertEqual((caught.exception.status, caught.exception.reason), (409, "PAYMENT_NOT_REFUNDABLE"))
        with self.assertRaises(WaitError):
            payments.wait_for(id, "paid")

    def test_a_list_has_no_gap(self):
        payments, number = self.payweave.payments, strangers_number()
        ids = [payments.create(order(number))["id"] for _ in range(3)]
        found = payments.list({"mobile_number": number, "limit": 1})
        self.assertEqual([payment["payment_details_id"] for payment in found], ids[::-1])

    def test_an_institution_quotes_and_moves_money_under_a_sealed_session(self):
        accounts, quotes, institution = self.payweave.accounts, self.payweave.quotes, self.payweave.institution
        lookup = {"lookup_type": "MOBILE", "lookup_value": person(11), "institution_name": INSTITUTION}
        token = accounts.open_session(lookup)["session"]["session_token"]
        names = {"mobile_number": person(11), "first_name": "Akosua", "last_name": "Badu"}
        status = accounts.status({**names, "institution_name": INSTITUTION})
        self.assertEqual(status["account_status"], "available")

        amount = {"session_token": token, "institution_name": INSTITUTION, "request_amount": Decimal("10.00")}
        quote = quotes.create({**amount, "request_currency": "USD", "credit_party": {"currency": "TTD"}})
        self.assertEqual((quote["rate"], quote["amount_quoted"]), ("6.7829", "67.82"))
        self.assertEqual(quotes.get(quote["quote_id"], INSTITUTION)["amount_quoted"], "67.82")
        own = institution.create_quote({**amount, "request_currency": "TTD"})
        state = institution.quote(own["quote_id"], INSTITUTION)
        self.assertEqual(state["quote_status"], "active")

        transaction = {
            "session_token_enc": seal_value(token, KEY),
            "transaction_id": unique("p2p"),
            "amount": Decimal("1.00"),
            "transaction_type": "p2p",
            "debit_party": {"mobile_number": person(11)},
            "credit_party": {"mobile_number": person(1)},
            "transfer_information": {"institution_name": INSTITUTION},
        }
        receipt = institution.create_transaction(transaction)
        again = institution.create_transaction(transaction)
        self.assertEqual(again["institution_receipt_id"], receipt["institution_receipt_id"])
        read = institution.transaction(transaction["transaction_id"], INSTITUTION)
        self.assertEqual((read["transaction_status"], read["amount"]), ("completed", "1.00"))
        # The guides' samples move money of the same person at the same time.
        listed = institution.transactions({"mobile_number": person(11)}).take(100)
        self.assertIn(read["transaction_id"], [one["transaction_id"] for one in listed])
        history = accounts.transactions({"mobile_number": person(11), "limit": 1}).take(2)
        self.assertEqual(history[0]["type"], "debit")
        self.assertEqual(accounts.balance(person(11))["data"]["currency"], "USD")

    def test_a_key_pays_a_bill_once(self):
        bills, key = self.payweave.bills, unique("bill")
        bill = {
            "biller_code": "DEMO_POWER",
            "product_code": "PREPAID",
            "amount": Decimal("5.00"),
            "currency": "USD",
            "customer_reference": "12345678",
        }
        paid = bills.pay(bill, idempotency_key=key)
        self.assertEqual(bills.pay(bill, idempotency_key=key), paid)
        outcome = bills.wait_for_outcome(paid["transaction_id"])
        self.assertEqual(outcome["normalized_status"], "SUCCESS")
        receipt = bills.receipt(paid["transaction_id"])
        self.assertEqual(receipt["receipt_id"], paid["receipt_id"])
        with self.assertRaises(PayweaveError) as caught:
            bills.pay({**bill, "amount": "6.00"}, idempotency_key=key)
        self.assertEqual(caught.exception.reason, "IDEMPOTENCY_KEY_CONFLICT")

    def test_an_account_is_created_with_documents_and_its_signed_callback_verified(self):
        accounts, inbox = self.payweave.accounts, Receiver()
        token = uuid.uuid4().hex
        names = {"first_name": "Efua", "last_name": "Sutherland", "email": "efua@example.com"}
        callback = {"callback_url": inbox.url, "authorisation_token": token}
        profile = {**names, **callback, "mobile_number": strangers_number(), "institution_name": INSTITUTION}
        made = accounts.create_personal_with_documents({**profile, "dob": "1990-05-17", "selfie": PNG})
        self.assertEqual(made["account_status"], "pending_review")
        signed = verify_onboarding_callback(
            *inbox.first(),
            signing_secrets=[KEYS["signing_secret"]],
            keys=[KEY],
            authorisation_token=token,
        )
        self.assertEqual(signed.body["account"]["onboarding_status"], "completed")
        personal = accounts.create_personal({**profile, "mobile_number": strangers_number()})
        self.assertEqual(personal["account_status"], "pending_review")
        business = {**names, "business_name": "A shop", "mobile_number": strangers_number()}
        self.assertEqual(len(accounts.create_business(business)["api_key"]), 32)
        lookup = {"lookup_type": "MOBILE", "lookup_value": person(0), "institution_name": INSTITUTION}
        session = accounts.open_session(lookup)["session"]
        registration = {
            **callback,
            "mobile_number": person(0),
            "institution_name": INSTITUTION,
            "first_name": "Ama",
            "last_name": "Mensah",
            "session_token": session["session_token"],
        }
        self.assertNotEqual(accounts.register(registration)["challengeId"], "")


if __name__ == "__main__":
    unittest.main()
