"""Calls about quotes and institution transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ._transport import Call, CallOptions
from .pages import Page, PageList
from .types import (
    InstitutionQuote,
    InstitutionQuoteState,
    InstitutionTransaction,
    NewInstitutionQuote,
    NewInstitutionTransaction,
    NewQuote,
    Quote,
    QuoteState,
    Receipt,
    TransactionFilter,
    TransactionSummary,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_VERSION = "2024-10-01"


class QuoteCalls:
    """Calls about quotes to any currency."""

    def __init__(self, send: Callable[[Call, CallOptions], dict[str, Any]]) -> None:
        self._send = send

    def create(self, quote: NewQuote, **options: Unpack[CallOptions]) -> Quote:
        """Convert an amount into the other party's currency, at a rate that holds for five minutes."""
        return cast(Quote, self._send(Call("POST", "/quote", _VERSION, body=quote), options))

    def get(
        self, quote_id: str, institution_name: str, **options: Unpack[CallOptions]
    ) -> QuoteState:
        """Read a quote."""
        query = {"quote_id": quote_id, "institution_name": institution_name}
        return cast(QuoteState, self._send(Call("GET", "/quote", _VERSION, query=query), options))


class InstitutionCalls:
    """Calls about transactions and quotes of an institution."""

    def __init__(self, send: Callable[[Call, CallOptions], dict[str, Any]]) -> None:
        self._send = send

    def _get(self, name: str, query: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        return self._send(Call("GET", f"/institution/{name}", _VERSION, query=query), options)

    def create_transaction(
        self, transaction: NewInstitutionTransaction, **options: Unpack[CallOptions]
    ) -> Receipt:
        """Move money between accounts. `session_token_enc` is `seal_value(session_token, key)`.

        The same `transaction_id` with the same content is one transaction, however often it is sent.
        """
        call = Call("POST", "/institution/transaction", _VERSION, body=transaction)
        return cast(Receipt, self._send(call, options))

    def transaction(
        self, transaction_id: str, institution_name: str, **options: Unpack[CallOptions]
    ) -> InstitutionTransaction:
        """Read a transaction by your own id."""
        query = {"transaction_id": transaction_id, "institution_name": institution_name}
        return cast(InstitutionTransaction, self._get("transaction", query, options))

    def create_quote(
        self, quote: NewInstitutionQuote, **options: Unpack[CallOptions]
    ) -> InstitutionQuote:
        """Create a quote in the currency of the session's account."""
        call = Call("POST", "/institution/quote", _VERSION, body=quote)
        return cast(InstitutionQuote, self._send(call, options))

    def quote(
        self, quote_id: str, institution_name: str, **options: Unpack[CallOptions]
    ) -> InstitutionQuoteState:
        """Read a quote with its state and the transaction that used it."""
        query = {"quote_id": quote_id, "institution_name": institution_name}
        return cast(InstitutionQuoteState, self._get("post", query, options))

    def transactions(
        self, filter: TransactionFilter, **options: Unpack[CallOptions]
    ) -> PageList[TransactionSummary]:
        """List your transactions with a number on either side, newest first."""

        def fetch_page(cursor: str | None) -> Page[TransactionSummary]:
            found = self._get("transaction_history", {**filter, "cursor": cursor}, options)
            return Page(found["data"]["transactions"], found["data"]["next_cursor"])

        return PageList(fetch_page)
