"""The shop of shop-python without the SDK: Python's standard library and nothing else."""

import html
import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

PORT = int(os.environ.get("SHOP_PORT", "4003"))
SHOP_URL = f"http://127.0.0.1:{PORT}"
checkout = Path(__file__).resolve().parents[2]
data_dir = Path(os.environ.get("PAYWEAVE_DATA_DIR", checkout / ".payweave"))
sandbox = json.loads((data_dir / "sandbox.json").read_text())
project = sandbox["projects"]["demo"]


class PayweaveError(Exception):
    def __init__(self, status, answer):
        request_id = answer.get("request_id", "without a response")
        super().__init__(f"{answer.get('errorCode')}: {answer.get('message')} (request {request_id})")
        self.status = status


def payweave(method, path, version, fields):
    """Sends a call. After a transient error it sends the same body and ids again, up to three times."""
    fields = {"api_key": project["api_key"], **fields}
    query = urlencode({"version": version, **(fields if method == "GET" else {})})
    body = json.dumps(fields).encode() if method == "POST" else None
    for attempt in range(4):
        status, answer, retry_after = send(method, f"{sandbox['base_url']}{path}?{query}", body)
        if 200 <= status < 300:
            return answer
        if attempt == 3 or status not in (0, 408, 429, 500, 502, 503, 504):
            raise PayweaveError(status, answer)
        time.sleep(max(retry_after, random.uniform(0, 0.25 * 2**attempt)))


def send(method, url, body):
    """Sends one request. Without a response the status is 0: whether it was executed is not known."""
    headers = {
        "PW-subscription-key": project["subscription_key"],
        "PW-origin-country": "US",
        "PW-request-date": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
        "PW-ip-address": "127.0.0.1",
        "User-Agent": "shop/1.0",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response), 0
    except urllib.error.HTTPError as error:
        try:
            return error.code, json.load(error), int(error.headers["Retry-After"] or 0)
        except ValueError:  # not JSON: from something between the shop and the API
            return error.code, {"message": str(error)}, 0
    except (OSError, ValueError, HTTPException) as error:
        return 0, {"errorCode": "NO_RESPONSE", "message": str(error)}, 0


# Several pushes can find one payment paid, and each can repeat. A real shop ships in one transaction of its database: it changes
# the order from open to shipped, and ships only if the order was open.
shipped = set()
shipping = threading.Lock()


def buy(order, mobile_number):
    """The id of the order is in the form: a second click on "Buy" is the same order, and the same payment."""
    payer = {"payment_channel": "payment_link", "payment_method": "wallet"}
    request = {
        "id": order,
        "amount": "25.00",
        "currency": "USD",
        "description": "A mug",
        "payers": [{**payer, "mobile_number": mobile_number}],
        "urls": {"success": SHOP_URL, "error": SHOP_URL, "callback": f"{SHOP_URL}/webhook"},
    }
    answer = payweave("POST", "/payments/request", "2024-10-01", {"transaction_request": request})
    return answer["payment_details"]["payers"][0]["url"]


def receive(headers):
    """A push is a hint: its payment is read, and neither its body nor its order is believed."""
    fields = {"payment_details_id": headers.get("PW-payment-details-id", "")}
    try:
        payment = payweave("GET", "/payments/status", "2024-10-01", fields)
    except PayweaveError as error:
        if error.status in (400, 404):
            return 400
        raise
    order = payment["transaction_request"]["id"]
    status = payment["payment_details"]["status"]
    with shipping:  # the server has a thread for each request
        is_first = status == "paid" and order not in shipped
        if is_first:
            shipped.add(order)
    print(f"{order} is {status}{': ship it' if is_first else ''}", flush=True)
    return 204


def refund(payment):
    fields = {"payment_details_id": payment, "reason": "Returned by the customer"}
    payweave("POST", "/payments/refund", "2026-12-01", fields)
    return "/"


def page():
    rows = ""
    for payment in payweave("GET", "/payments/list", "2026-12-01", {"limit": 20})["payments"]:
        button = f'<button name="payment" value="{payment["payment_details_id"]}">Refund</button>'
        form = f'<form method="post" action="/refund">{button}</form>'
        rows += f"""<tr><td>{html.escape(payment["transaction_id"])}<td>{payment["amount"]} {payment["currency"]}
          <td>{payment["status"]}<td>{form if payment["status"] == "paid" else ""}"""
    return f"""<!doctype html><title>Mugs</title><h1>Mugs</h1>
      <form method="post" action="/buy">
        <input type="hidden" name="order" value="mug-{uuid.uuid4()}">
        <label>Your mobile number <input name="mobile_number" value="+12025550100"></label>
        <button>Buy a mug for 25.00 USD</button>
      </form>
      <table>{rows}</table>"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(lambda: (200, {"Content-Type": "text/html; charset=utf-8"}, page()))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/webhook":
            self.answer(lambda: (receive(self.headers), {}, ""))
        else:
            action = {"/buy": buy, "/refund": refund}[self.path]
            self.answer(lambda: (303, {"Location": action(**dict(parse_qsl(body.decode())))}, ""))

    def answer(self, work):
        try:
            status, headers, text = work()
        except PayweaveError as error:
            print(error, file=sys.stderr, flush=True)
            status, headers, text = 502, {}, f"{error}\n"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
print(f"The shop is open: {SHOP_URL}", flush=True)
server.serve_forever()
