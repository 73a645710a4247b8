"""Tests what the Python SDK does about failures, pages, waits and pushes, against a server that answers as wanted."""

import copy
import hashlib
import hmac
import json
import pickle
import re
import threading
import time
import unittest
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import payweave
from payweave._transport import Transport
from payweave import Payweave, PayweaveError, SealingKey, WaitError, WebhookError, seal_value

CREDENTIALS = {
    "subscription_key": "pwk_test_0123456789abcdefghijklm",
    "api_key": "key",
    "origin_country": "TT",
    "ip_address": "203.0.113.7",
}
ORDER = {
    "id": "order-1",
    "amount": Decimal("25.00"),
    "currency": "USD",
    "payers": [
        {
            "mobile_number": "+12025550101",
            "payment_channel": "payment_link",
            "payment_method": "wallet",
        }
    ],
}
CREATED = (200, {"payment_details": {"id": "p1"}})
BILL = {
    "biller_code": "A",
    "product_code": "B",
    "amount": "1.00",
    "currency": "USD",
    "customer_reference": "1",
}
BUSINESS = {
    "business_name": "Shop",
    "first_name": "Ama",
    "last_name": "Mensah",
    "email": "ama@example.com",
    "mobile_number": "+12025550100",
}


def refused(status, code, **more):
    return status, {"status": "error", "code": status, "message": "no", "errorCode": code, **more}


class Server:
    """Gives the replies one after the other, and the last one for ever: (status, body, headers), "break" or "hang"."""

    def __init__(self, test, *replies):
        self.seen = []
        self.connections = set()
        self.sockets = []
        self.ended = threading.Event()
        self.arrived = threading.Semaphore(0)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outer.sockets.append(self.connection)

            def do_POST(self):
                outer.connections.add(self.client_address)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                reply = replies[min(len(outer.seen), len(replies) - 1)]
                outer.seen.append((self.command, urlsplit(self.path), self.headers, body))
                outer.arrived.release()
                if reply == "hang":
                    outer.ended.wait()
                if isinstance(reply, str):
                    self.close_connection = True
                    return
                status, content, *rest = reply
                text = (content if isinstance(content, str) else json.dumps(content)).encode()
                self.send_response(status)
                for name, value in {**(rest[0] if rest else {}), "content-length": len(text)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        test.addCleanup(self.ended.set)
        self.server = server
        self.port = server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def header(self, name):
        return [headers[name] for _, _, headers, _ in self.seen]

    def query(self, name):
        return [parse_qs(url.query).get(name, [None])[0] for _, url, _, _ in self.seen]


class TestCase(unittest.TestCase):
    def against(self, *replies, **options):
        server = Server(self, *replies)
        client = Payweave(base_url=server.url, **{**CREDENTIALS, **options})
        self.addCleanup(client.close)
        return server, client

    def error_of(self, call, *arguments, **options):
        with self.assertRaises(PayweaveError) as caught:
            call(*arguments, **options)
        return caught.exception


class Calls(TestCase):
    def test_a_call_has_the_headers_and_the_version_of_the_api(self):
        server, client = self.against(CREATED, user_agent="shop/2.1")
        request_id = "5f0c1f1e-3c1d-4a8e-9d55-0d7f0a1b2c3d"
        client.payments.create(ORDER, request_id=request_id)
        [(method, url, headers, body)] = server.seen
        self.assertEqual([method, url.path, url.query], ["POST", "/payments/request", "version=2024-10-01"])
        self.assertEqual(headers["PW-subscription-key"], CREDENTIALS["subscription_key"])
        self.assertEqual(headers["PW-origin-country"], "TT")
        self.assertEqual(headers["PW-ip-address"], "203.0.113.7")
        self.assertEqual(headers["PW-request-id"], request_id)
        self.assertEqual(headers["User-Agent"], f"payweave-sdk-python/{payweave.__version__} shop/2.1")
        self.assertRegex(headers["PW-request-date"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        order = {**ORDER, "amount": "25.00"}
        self.assertEqual(json.loads(body), {"api_key": "key", "transaction_request": order})

    def test_a_call_is_repeated_with_the_same_ids_and_body_after_a_passing_failure(self):
        failures = [
            "break",
            refused(408, "TIMEOUT"),
            refused(429, "RATE_LIMIT_EXCEEDED"),
            refused(500, "INTERNAL_ERROR"),
            (502, "<html>"),
            refused(503, "SERVICE_UNAVAILABLE"),
            refused(504, "TIMEOUT"),
            refused(409, "IDEMPOTENCY_KEY_IN_PROGRESS"),
        ]
        for failure in failures:
            with self.subTest(failure=failure):
                server, client = self.against(failure, (201, {"normalized_status": "SUCCESS"}))
                paid = client.bills.pay(BILL, idempotency_key="bill-1")
                self.assertEqual(paid["normalized_status"], "SUCCESS")
                self.assertEqual(server.header("Idempotency-Key"), ["bill-1", "bill-1"])
                self.assertEqual(len(set(server.header("PW-request-id"))), 1)
                self.assertEqual(len({body for *_, body in server.seen}), 1)

    def test_a_call_is_repeated_while_the_first_call_with_its_key_runs_longer_than_after_a_failure(self):
        running = refused(409, "IDEMPOTENCY_KEY_IN_PROGRESS")
        server, client = self.against(*[running] * 6, "break", (201, {}), max_retries=1)
        client.bills.pay(BILL, idempotency_key="bill-1")
        self.assertEqual(len(server.seen), 8)
        server, client = self.against(running)
        self.error_of(client.bills.pay, BILL, idempotency_key="bill-1", max_retries=0)
        self.assertEqual(len(server.seen), 1)

    def test_a_call_whose_key_is_in_progress_for_a_minute_raises_that_reason(self):
        server, client = self.against(refused(409, "IDEMPOTENCY_KEY_IN_PROGRESS"), timeout=600)
        clock = time.monotonic
        with patch("time.monotonic", lambda: clock() + (60 if len(server.seen) > 2 else 0)):
            error = self.error_of(client.bills.pay, BILL, idempotency_key="bill-1")
        self.assertEqual((error.status, error.reason), (409, "IDEMPOTENCY_KEY_IN_PROGRESS"))
        self.assertEqual(len(server.seen), 3)

    def test_a_push_is_sent_again_under_one_key_in_each_attempt_and_under_another_in_the_next_call(self):
        server, client = self.against("break", (200, {"delivery": {"delivery_id": "d1"}}))
        client.deliveries.resend("d1")
        client.deliveries.resend("d1")
        client.deliveries.resend("d1", idempotency_key="mine")
        first, repeat, after, own = server.header("Idempotency-Key")
        self.assertRegex(first, "^[0-9a-f-]{36}$")
        self.assertEqual((repeat, own), (first, "mine"))
        self.assertNotEqual(after, first)

    def test_a_call_is_not_repeated_after_a_refusal(self):
        for status in (400, 401, 403, 404, 409):
            server, client = self.against(refused(status, "SOME_REASON"))
            self.assertEqual(self.error_of(client.payments.create, ORDER).status, status)
            self.assertEqual(len(server.seen), 1)

    def test_a_call_is_repeated_three_times_and_then_raises_the_last_error(self):
        server, client = self.against(refused(503, "SERVICE_UNAVAILABLE"))
        self.assertEqual(self.error_of(client.payments.status, "p1").status, 503)
        self.assertEqual(len(server.seen), 4)

    def test_a_call_waits_as_retry_after_says_and_leaves_a_long_wait_to_its_caller(self):
        _, client = self.against((429, {}, {"Retry-After": "1"}), CREATED)
        start = time.monotonic()
        client.payments.create(ORDER)
        self.assertGreaterEqual(time.monotonic() - start, 1)
        server, client = self.against((429, {}, {"Retry-After": "61"}), CREATED)
        self.assertEqual(self.error_of(client.payments.create, ORDER).retry_after, 61)
        self.assertEqual(len(server.seen), 1)

    def test_a_call_that_must_not_be_executed_twice_is_repeated_only_when_it_was_not_executed(self):
        for failure in ("break", refused(503, "SERVICE_UNAVAILABLE")):
            server, client = self.against(failure)
            self.error_of(client.accounts.create_business, BUSINESS)
            self.assertEqual(len(server.seen), 1)
        server, client = self.against(refused(429, "RATE_LIMIT_EXCEEDED"), (200, {"pin": 1}))
        client.accounts.create_business(BUSINESS)
        self.assertEqual(len(server.seen), 2)

    def test_a_call_without_a_response_in_time_raises(self):
        server, client = self.against("hang", timeout=0.05, max_retries=1)
        error = self.error_of(client.payments.status, "p1")
        self.assertEqual((error.status, error.reason), (0, "NO_RESPONSE"))
        self.assertEqual(error.message, "GET /payments/status got no response within 0.05 s")
        # The client does not wait until the server has read a request.
        for _ in range(2):
            self.assertTrue(server.arrived.acquire(timeout=30))
        self.assertEqual(len(server.seen), 2)

    def test_a_form_has_60_seconds_by_default_any_other_call_30_and_both_what_the_caller_says(self):
        found = []

        def exchange(_, call, body, headers, timeout, **_options):
            found.append(timeout)
            return {"data": {}, "request_id": "r1"}

        with patch.object(Transport, "_exchange", exchange):
            _, client = self.against(CREATED)
            client.accounts.create_personal_with_documents({})
            client.accounts.create_personal({})
            _, client = self.against(CREATED, timeout=40)
            client.accounts.create_personal_with_documents({})
            client.accounts.create_personal_with_documents({}, timeout=50)
        self.assertEqual(found, [60, 30, 40, 50])

    def test_a_caller_sees_the_headers_of_each_response_also_of_those_before_a_repeat(self):
        headers = {"PW-request-id": "r1", "PW-Warning": "unknown field: colour"}
        seen = []
        replies = ((*refused(503, "SERVICE_UNAVAILABLE"), headers), "break", (*CREATED, headers))
        _, client = self.against(*replies, on_response=seen.append)
        client.payments.create(ORDER)
        found = [(one.status, one.headers.get("pw-warning"), one.request_id) for one in seen]
        self.assertEqual(found, [(status, headers["PW-Warning"], "r1") for status in (503, 200)])

    def test_a_call_follows_no_redirect_which_would_carry_the_keys_elsewhere(self):
        other, _ = self.against(CREATED)
        _, client = self.against((307, {}, {"Location": other.url}))
        self.assertEqual(self.error_of(client.payments.create, ORDER).reason, "HTTP_307")
        self.assertEqual(other.seen, [])

    def test_money_is_never_a_float(self):
        server, client = self.against(CREATED)
        with self.assertRaisesRegex(TypeError, r"^transaction_request\.amount is a float"):
            client.payments.create({**ORDER, "amount": 25.0})
        self.assertEqual(server.seen, [])

    def test_a_field_that_is_none_is_left_out_of_a_form_as_of_a_body(self):
        server, client = self.against((200, {"request_id": "r1", "data": {}}))
        profile = {"first_name": "Efua", "dob": None, "selfie": b"png", "passport": None}
        client.accounts.create_personal_with_documents(profile)
        client.accounts.create_personal(profile | {"selfie": None})
        form, body = [body for _, _, _, body in server.seen]
        self.assertEqual(re.findall(rb'; name="(\w+)"', form), [b"first_name", b"selfie"])
        self.assertEqual(json.loads(body), {"first_name": "Efua"})

    def test_a_client_without_a_key_is_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, "^missing options: api_key$"):
            Payweave(base_url="http://127.0.0.1", **{**CREDENTIALS, "api_key": ""})

    def test_an_option_that_no_header_takes_is_refused_by_name_and_its_value_is_not_shown(self):
        message = "^options with characters other than visible ASCII: subscription_key, user_agent$"
        for end in ("\n", "\r\n", " ", "\u00e9"):
            key = CREDENTIALS["subscription_key"] + end
            options = {**CREDENTIALS, "subscription_key": key, "user_agent": "shop 1.0\n"}
            with self.subTest(end=end), self.assertRaisesRegex(ValueError, message):
                Payweave(base_url="http://127.0.0.1", **options)
        Payweave(base_url="http://127.0.0.1", **CREDENTIALS, user_agent="shop 1.0").close()

    def test_an_address_that_is_none_is_refused_and_not_shown(self):
        for base_url in (
            "http://127.0.0.1:1/ ",
            "http://127.0.0.1 ",
            "http://127.0.0.1/\u00e9",
            "api.example.com",
            "https://name:secret@api.example.com",
            "https://api.example.com?a=b",
            "https://api.example.com#a",
        ):
            with self.subTest(base_url), self.assertRaisesRegex(ValueError, "base_url") as caught:
                Payweave(base_url=base_url, **CREDENTIALS)
            self.assertNotIn(base_url, str(caught.exception))

    def test_a_call_with_a_bad_key_is_refused_before_it_is_sent(self):
        server, client = self.against(CREATED)
        for key in (None, "", "a b", "facture-\u00e9", "a\nb", "x" * 256, 7):
            with self.subTest(key), self.assertRaisesRegex(ValueError, "^idempotency_key must"):
                client.bills.pay({}, idempotency_key=key)
        with self.assertRaisesRegex(ValueError, "^idempotency_key must"):
            client.deliveries.resend("d1", idempotency_key="")
        self.assertEqual(server.seen, [])


class Errors(TestCase):
    def test_an_error_has_the_reason_the_request_and_what_to_do_and_no_key(self):
        more = {"request_id": "r1", "field": "amount", "doc_url": "https://x/docs/errors#A"}
        _, client = self.against(refused(400, "INVALID_PARAMETER", **more))
        error = self.error_of(client.payments.create, ORDER)
        self.assertEqual(str(error), "INVALID_PARAMETER: no (request r1)")
        self.assertEqual((error.field, error.doc_url), ("amount", "https://x/docs/errors#A"))
        self.assertRegex(error.how_to_fix, "^Correct the field")
        self.assertNotIn("pwk_", repr(vars(error)))

    def test_an_error_keeps_its_facts_when_it_goes_to_another_process(self):
        _, client = self.against(refused(429, "RATE_LIMIT_EXCEEDED", field="x"), max_retries=0)
        error = self.error_of(client.payments.create, ORDER)
        for found in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            self.assertEqual((str(found), found.args), (str(error), error.args))
            self.assertEqual(vars(found), vars(error))

    def test_an_error_has_the_code_inside_data_and_the_status_where_there_is_none(self):
        _, client = self.against((409, {"message": "no", "data": {"errorCode": "AMBIGUOUS_MATCH"}}))
        lookup = {"lookup_type": "MOBILE", "lookup_value": "+12025550109"}
        error = self.error_of(client.accounts.open_session, lookup)
        self.assertEqual(error.reason, "AMBIGUOUS_MATCH")
        _, client = self.against((404, {"message": "no"}))
        error = self.error_of(client.quotes.get, "q", "Demo Wallet")
        self.assertEqual((error.reason, error.message), ("HTTP_404", "no"))
        _, client = self.against((200, "<html>"))
        self.assertEqual(self.error_of(client.payments.status, "p1").reason, "HTTP_200")


class Lists(TestCase):
    def page(self, ids, next_cursor):
        payments = [{"payment_details_id": id} for id in ids]
        return 200, {"payments": payments, "next_cursor": next_cursor}

    def test_a_list_reads_page_after_page_also_over_an_empty_one_with_the_same_filter(self):
        server, client = self.against(self.page(["a"], "c1"), self.page([], "c2"), self.page(["b"], None))
        found = client.payments.list({"status": "paid", "limit": 1})
        self.assertEqual([payment["payment_details_id"] for payment in found], ["a", "b"])
        self.assertEqual(server.query("cursor"), [None, "c1", "c2"])
        self.assertEqual(server.query("status"), ["paid"] * 3)

    def test_a_list_reads_no_page_that_nobody_wants(self):
        server, client = self.against(self.page(["a", "b"], "c1"))
        self.assertEqual(len(client.payments.list().take(2)), 2)
        self.assertEqual(len(server.seen), 1)


class Waits(TestCase):
    def state(self, status):
        return 200, {"payment_details": {"status": status}}

    def test_a_wait_ends_with_the_wanted_state_and_goes_on_in_a_state_that_the_sdk_does_not_know(self):
        states = ("Pending", "Of_a_newer_API", "paid")
        server, client = self.against(*map(self.state, states))
        client.payments.wait_for("p1", "paid", every=0.001)
        self.assertEqual(len(server.seen), 3)

    def test_a_wait_ends_with_an_error_when_the_state_cannot_come_or_the_time_is_over(self):
        _, client = self.against(self.state("Expired"))
        with self.assertRaisesRegex(WaitError, "^the state is Expired, which is final$"):
            client.payments.wait_for("p1", "paid")
        server, client = self.against(self.state("Pending"))
        start = time.monotonic()
        with patch("time.monotonic", lambda: start + (60 if len(server.seen) > 1 else 0)):
            with self.assertRaisesRegex(WaitError, "^the state is still Pending after 60 s$"):
                client.payments.wait_for("p1", "paid", every=0.001)
        self.assertEqual(len(server.seen), 2)

    def test_a_wait_that_has_no_response_ends_when_its_time_is_over_with_all_attempts_of_a_read(self):
        # Where this machine stalls, the time may be over before the third request.
        for within in (0.6, 6, 60):
            server, client = self.against(self.state("Pending"), refused(503, "NO"), "hang")
            with self.assertRaises(WaitError) as raised:
                client.payments.wait_for("p1", "paid", within=within, every=0.001)
            if len(server.seen) == 3:
                break
        self.assertEqual(str(raised.exception), f"the state is still Pending after {within} s")
        self.assertEqual(len(server.seen), 3)

    def test_each_read_of_a_wait_takes_the_options_of_a_call(self):
        server, client = self.against("hang", refused(503, "NO"))
        options = {"request_id": "1", "max_retries": 0}
        error = self.error_of(client.payments.wait_for, "p1", "paid", timeout=0.05, **options)
        self.assertEqual((error.reason, error.request_id), ("NO_RESPONSE", "1"))
        self.error_of(client.bills.wait_for_outcome, "b1", **options)
        self.assertEqual(server.header("PW-request-id"), ["1", "1"])

    def test_an_option_that_no_call_has_is_refused_by_name(self):
        server, client = self.against(CREATED)
        for call in (client.payments.status, client.bills.wait_for_outcome):
            with self.assertRaisesRegex(TypeError, "takes no option 'time_out'$"):
                call("one", time_out=1)
        self.assertEqual(server.seen, [])


HEADERS = {
    "pw-delivery-id": "d1",
    "pw-delivery-attempt": "2",
    "pw-event-id": "e1",
    "pw-payment-details-id": "p1",
}
NOTIFY = (
    b'{"event_type":"payment_completed","transaction_id":"order-1",'
    b'"description":"\\"amount\\":1.5","payer":{"amount":90071992547409.93}}'
)
KEY = SealingKey("0a0b0c0d", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=")
NOW = 1_795_255_530
BODY = b'{"request_id":"r1","institution_name":"Demo Wallet"}'


def signed(**changes):
    signature = hmac.new(b"secret", f"{NOW}.".encode() + BODY, hashlib.sha256).hexdigest()
    headers = {
        **HEADERS,
        "PW-Signature": f"t={NOW},v1={signature}",
        "authorisation-token": seal_value("my-own-token", KEY, "authorisation-token"),
    }
    options = {
        "headers": headers,
        "raw_body": BODY,
        "signing_secrets": ["newer", "secret"],
        "keys": [KEY],
        "authorisation_token": "my-own-token",
        "now": NOW,
        **changes,
    }
    return payweave.verify_onboarding_callback(**options)


class Pushes(TestCase):
    def test_a_push_is_read_with_its_ids_and_its_amount_to_the_last_digit(self):
        push = payweave.read_push(HEADERS, NOTIFY)
        ids = (push.delivery_id, push.attempt, push.event_id, push.payment_details_id)
        self.assertEqual(ids, ("d1", 2, "e1", "p1"))
        self.assertEqual((push.kind, push.transaction_id), ("notify", "order-1"))
        self.assertEqual(push.body["description"], '"amount":1.5')
        self.assertEqual(push.body["payer"]["amount"], "90071992547409.93")

    def test_an_amount_without_decimals_is_text_and_other_numbers_are_numbers(self):
        body = b'{"transaction_request":{"id":"order-1"},"sequence":2,"amount":2500,"more":[{"amount":-1}]}'
        push = payweave.read_push(HEADERS, body)
        self.assertEqual((push.body["sequence"], push.body["amount"]), (2, "2500"))
        self.assertEqual(push.body["more"], [{"amount": "-1"}])

    def test_what_has_not_the_form_of_a_push_is_refused(self):
        large = NOTIFY.replace(b"order-1", b"o" * 65_536)
        deep = b"[" * 60_000
        for body in (b"amount=1", b'{"id":1}', b"\xff", b"[]", large, deep):
            with self.subTest(body[:20]), self.assertRaises(WebhookError):
                payweave.read_push(HEADERS, body)
        with self.assertRaises(WebhookError):
            payweave.read_push({}, NOTIFY)

    def test_a_body_that_never_ends_its_text_is_refused_in_linear_time(self):
        start = time.process_time()
        with self.assertRaises(WebhookError):
            payweave.read_push(HEADERS, b'"' + b'\\"' * 32_000)
        self.assertLess(time.process_time() - start, 0.3)

    def test_a_push_is_confirmed_by_the_state_and_refused_for_a_payment_that_is_not_ours(self):
        state = {"transaction_request": {"id": "order-1"}, "payment_details": {"status": "paid"}}
        server, client = self.against((200, state))
        _, payment = client.payments.confirm_push(HEADERS, NOTIFY)
        self.assertEqual(payment["payment_details"]["status"], "paid")
        self.assertEqual(server.query("payment_details_id"), ["p1"])
        with self.assertRaises(WebhookError):
            client.payments.confirm_push(HEADERS, NOTIFY.replace(b"order-1", b"order-2"))
        _, client = self.against(refused(404, "PAYMENT_NOT_FOUND"))
        with self.assertRaises(WebhookError):
            client.payments.confirm_push(HEADERS, NOTIFY)

    def test_a_signed_callback_is_taken_when_signature_and_token_are_ours(self):
        callback = signed()
        self.assertEqual(callback.delivery_id, "d1")
        self.assertEqual(callback.body["institution_name"], "Demo Wallet")

    def test_a_signed_callback_is_refused_otherwise(self):
        changes = {
            "without the secret": {"signing_secrets": ["newer"]},
            "too late": {"now": NOW + 301},
            "too late for a smaller tolerance": {"now": NOW + 11, "tolerance": 10},
            "with a tolerance that is no number": {"tolerance": float("nan")},
            "another body": {"raw_body": BODY + b" "},
            "the token of another account": {"authorisation_token": "another-token"},
            "without the key of the token": {"keys": []},
            "without a signature": {"headers": HEADERS},
        }
        for name, change in changes.items():
            with self.subTest(name), self.assertRaises(WebhookError):
                signed(**change)

    def test_the_token_of_a_signed_callback_is_found_by_its_body_once_its_signature_is_genuine(self):
        read = []

        def verify(token, **changes):
            def find(body):
                read.append(body["request_id"])
                return token

            return signed(authorisation_token=find, **changes)

        self.assertEqual(verify("my-own-token").body["request_id"], "r1")
        for token in ("another-token", None):
            with self.subTest(token), self.assertRaises(WebhookError):
                verify(token)
        self.assertEqual(read, ["r1"] * 3)
        with self.assertRaises(WebhookError):
            verify("my-own-token", signing_secrets=["newer"])
        self.assertEqual(len(read), 3)

    def test_a_call_that_leads_to_a_signed_callback_returns_the_id_by_which_the_callback_is_found(self):
        made = {"request_id": "r1", "data": {"account_id": "a1"}, "challengeId": "c1"}
        _, client = self.against((200, made))
        account = {"account_id": "a1", "request_id": "r1"}
        self.assertEqual(client.accounts.create_personal({}), account)
        self.assertEqual(client.accounts.create_personal_with_documents({}), account)
        self.assertEqual(client.accounts.register({})["request_id"], "r1")

    def test_a_callback_is_never_verified_with_an_empty_secret(self):
        for secrets in (["secret", ""], "secret"):
            with self.subTest(secrets), self.assertRaises(ValueError) as caught:
                signed(signing_secrets=secrets)
            self.assertNotIsInstance(caught.exception, WebhookError)

    def test_a_key_does_not_show_itself(self):
        self.assertNotIn("BwcH", repr(KEY))


if __name__ == "__main__":
    unittest.main()
