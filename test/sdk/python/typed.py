"""What type checkers accept of a shop, and what they refuse: each `type: ignore` must hide an error."""

from decimal import Decimal

from payweave import Payweave, PayweaveError
from payweave.types import NewPayer, PaymentSummary

payweave = Payweave(
    base_url="https://api.example.com",
    subscription_key="",
    api_key="",
    origin_country="US",
    ip_address="203.0.113.7",
)
paid: list[PaymentSummary] = payweave.payments.list({"status": "paid"}).take(5)
for payment in payweave.payments.list():
    print(payment["amount"].rjust(10))
try:
    payweave.bills.receipt("one", timeout=0.5)
except PayweaveError as error:
    print(error.reason.lower())
payer: NewPayer = {
    "mobile_number": "+12025550101",
    "payment_channel": "payment_link",
    "payment_method": "wallet",
}
payweave.payments.create(
    {"id": "one", "amount": Decimal("25.00"), "currency": "USD", "payers": [payer]}
)
payweave.payments.create({"id": "one", "amount": 25.0, "currency": "USD", "payers": [payer]})  # type: ignore[arg-type]
payweave.payments.list({"status": "Paid"})  # type: ignore[arg-type]
payweave.bills.pay({"biller_code": "A", "product_code": "B", "amount": "1", "currency": "USD", "customer_reference": "1"})  # type: ignore[call-arg]
