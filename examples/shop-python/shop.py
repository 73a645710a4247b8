"""A shop in one file: it sells a mug, sends its customer to the payer's page, learns of the payment by a push, and refunds."""

import html
import json
import os
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

checkout = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(checkout / "clients" / "sdk-python"))  # a shop of your own: pip install payweave
from payweave import Payweave, PayweaveError, WebhookError  # noqa: E402

PORT = int(os.environ.get("SHOP_PORT", "4001"))
SHOP_URL = f"http://127.0.0.1:{PORT}"
data_dir = Path(os.environ.get("PAYWEAVE_DATA_DIR", checkout / ".payweave"))
sandbox = json.loads((data_dir / "sandbox.json").read_text())
payweave = Payweave(
    base_url=sandbox["base_url"],
    subscription_key=sandbox["projects"]["demo"]["subscription_key"],
    api_key=sandbox["projects"]["demo"]["api_key"],
    origin_country="US",
    ip_address="127.0.0.1",
)

# Several pushes can find one payment paid, and each can repeat. A real shop ships in one transaction of its database: it changes
# the order from open to shipped, and ships only if the order was open.
shipped = set()
shipping = threading.Lock()


def buy(order, mobile_number):
    """The id of the order is in the form: a second click on "Buy" is the same order, and the same payment."""
    payer = {"payment_channel": "payment_link", "payment_method": "wallet"}
    payment = payweave.payments.create(
        {
            "id": order,
            "amount": "25.00",
            "currency": "USD",
            "description": "A mug",
            "payers": [{**payer, "mobile_number": mobile_number}],
            "urls": {"success": SHOP_URL, "error": SHOP_URL, "callback": f"{SHOP_URL}/webhook"},
        }
    )
    return payment["payers"][0]["url"]


def receive(headers, raw_body):
    push, payment = payweave.payments.confirm_push(headers, raw_body)
    order = push.transaction_id
    status = payment["payment_details"]["status"]
    with shipping:  # the server has a thread for each request
        is_first = status == "paid" and order not in shipped
        if is_first:
            shipped.add(order)
    print(f"{order} is {status}{': ship it' if is_first else ''}", flush=True)


def refund(payment):
    payweave.payments.refund(payment, "Returned by the customer")
    return "/"


def page():
    rows = ""
    for payment in payweave.payments.list().take(20):
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
            self.answer(lambda: (204, {}, receive(self.headers, body) or ""))
        else:
            action = {"/buy": buy, "/refund": refund}[self.path]
            self.answer(lambda: (303, {"Location": action(**dict(parse_qsl(body.decode())))}, ""))

    def answer(self, work):
        try:
            status, headers, text = work()
        except (WebhookError, PayweaveError) as error:
            print(error, getattr(error, "how_to_fix", ""), file=sys.stderr, flush=True)
            status, headers, text = 400 if isinstance(error, WebhookError) else 502, {}, f"{error}\n"
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
