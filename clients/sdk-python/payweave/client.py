"""The client of the JSON API."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable

from ._transport import ApiResponse, Transport
from ._version import __version__
from .accounts import AccountCalls
from .bills import BillCalls
from .deliveries import DeliveryCalls
from .payments import PaymentCalls
from .transfers import InstitutionCalls, QuoteCalls


class Payweave:
    """A client; its calls are grouped by resource. Threads may share it.

    Its calls raise a PayweaveError for what the API refuses, and when no response comes; they are repeated with the
    same ids where that is safe. Close a client that is no longer used, or use it in a `with` statement.
    """

    def __init__(
        self,
        *,
        base_url: str,
        subscription_key: str,
        api_key: str,
        origin_country: str,
        ip_address: str,
        user_agent: str | None = None,
        timeout: float | None = None,
        max_retries: int = 3,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
        on_response: Callable[[ApiResponse], None] | None = None,
    ) -> None:
        """Make a client. Raises a ValueError that names options which are empty or have characters that no header takes, and
        for a base_url or a proxy that is no address. It never shows the values.

        :param base_url: address of the API, for example `https://api.example.com`
        :param subscription_key: key of your project, 32 characters
        :param api_key: key of the merchant
        :param origin_country: ISO 3166-1 alpha-2 code of the country of your transactions
        :param ip_address: address of your server, which the allow-list of your project has
        :param user_agent: name of your software, added to that of the SDK
        :param timeout: seconds for one attempt, from opening the connection to the end of the response; default 30, and 60
            for a form with documents, which is more than the API takes for any response
        :param max_retries: how often a call is repeated after a transient error, 0 for never. While the first call with an
            `idempotency_key` runs, a call is repeated for up to 60 seconds, however often that is
        :param ssl_context: in place of the default one
        :param proxy: address of the proxy through which an https address is reached, `http://[name:password@]host:port`;
            an empty text for none; default: that of HTTPS_PROXY and NO_PROXY, as the standard library reads them
        :param on_response: called with each response of the API, also before a repeat: for `PW-Warning`, `RateLimit` and
            `Deprecation` in its headers. What it raises, the call raises
        """
        required = {
            "base_url": base_url,
            "subscription_key": subscription_key,
            "api_key": api_key,
            "origin_country": origin_country,
            "ip_address": ip_address,
        }
        missing = [name for name, value in required.items() if not value]
        if missing:
            raise ValueError(f"missing options: {', '.join(missing)}")
        # Other characters, such as the end of a line that was read with a key, no header takes.
        texts = {**required, "user_agent": (user_agent or "").replace(" ", "")}
        odd = [name for name, value in texts.items() if not re.fullmatch("[!-~]*", value)]
        if odd:
            raise ValueError(f"options with characters other than visible ASCII: {', '.join(odd)}")
        sdk = f"payweave-sdk-python/{__version__}"
        headers = {
            "PW-subscription-key": subscription_key,
            "PW-origin-country": origin_country,
            "PW-ip-address": ip_address,
            "User-Agent": sdk if user_agent is None else f"{sdk} {user_agent}",
            "Accept": "application/json",
        }
        self._transport = Transport(
            base_url,
            headers,
            timeout=timeout,
            max_retries=max_retries,
            ssl_context=ssl_context,
            proxy=proxy,
            on_response=on_response,
        )
        send = self._transport.send
        self.payments = PaymentCalls(send, api_key)
        self.deliveries = DeliveryCalls(send, api_key)
        self.accounts = AccountCalls(send)
        self.quotes = QuoteCalls(send)
        self.institution = InstitutionCalls(send)
        self.bills = BillCalls(send)

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def __enter__(self) -> Payweave:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
