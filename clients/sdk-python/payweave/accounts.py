"""Calls about accounts: look-ups with sessions, profiles, consent, balance and history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ._transport import Call, CallOptions
from .pages import Page, PageList
from .types import (
    AccountFilter,
    AccountLookup,
    AccountSession,
    AccountStatus,
    AccountTransaction,
    AccountTransactionFilter,
    Balance,
    BusinessAccount,
    NewBusinessAccount,
    NewPersonalAccount,
    NewPersonalAccountForm,
    NewRegistration,
    PersonalAccount,
    Registration,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_VERSION = "2024-10-01"


class CreatedAccount(PersonalAccount):
    """A personal account whose review has not ended, and the id of the call that created it."""

    request_id: str
    """Id of the call. The signed callback has it too."""


class SentRegistration(Registration):
    """A request that was sent to the holder, and the id of the call that sent it."""

    request_id: str
    """Id of the call. The signed callback has it too."""


class AccountCalls:
    """Calls about accounts. Your project must be approved for them."""

    def __init__(self, send: Callable[[Call, CallOptions], dict[str, Any]]) -> None:
        self._send = send

    def _post(
        self, name: str, body: Mapping[str, Any], options: CallOptions, *, once: bool = False
    ) -> dict[str, Any]:
        call = Call("POST", f"/account/{name}", _VERSION, body=body, once=once)
        return self._send(call, options)

    def open_session(
        self, lookup: AccountLookup, **options: Unpack[CallOptions]
    ) -> AccountSession:
        """Find one account and open a session for it; `session` is None when the account is unavailable.

        The same `request_id` with the same look-up returns the same session while it is valid.
        """
        return cast(AccountSession, self._post("account_session", lookup, options)["data"])

    def status(self, account: AccountFilter, **options: Unpack[CallOptions]) -> AccountStatus:
        """Read whether an account is available, and open a session for it."""
        call = Call("GET", "/account/account", _VERSION, query=account)
        return cast(AccountStatus, self._send(call, options))

    def create_personal(
        self, profile: NewPersonalAccount, **options: Unpack[CallOptions]
    ) -> CreatedAccount:
        """Create a personal account from a profile.

        Store a `request_id` of your own with the `authorisation_token` before the call: the callback has it. Not repeated
        when its outcome is unknown: then wait for the callback, and create it again if none comes. Of two profiles with one
        number at most one becomes available.
        """
        return _created(self._post("personal_account", profile, options, once=True))

    def create_personal_with_documents(
        self, profile: NewPersonalAccountForm, **options: Unpack[CallOptions]
    ) -> CreatedAccount:
        """The same as `create_personal`, with documents: JPEG, PNG or PDF, 10 MiB each and 25 MiB in all."""
        call = Call("POST", "/account/personal_account", _VERSION, form=profile, once=True)
        return _created(self._send(call, options))

    def create_business(
        self, business: NewBusinessAccount, **options: Unpack[CallOptions]
    ) -> BusinessAccount:
        """Create a merchant of your project; its `pin`, `api_key` and `authorisation_token` are only in this response.

        Not repeated when its outcome is unknown: a repeat would create a second merchant.
        """
        made = self._post("business_account", business, options, once=True)
        return cast(BusinessAccount, made)

    def register(
        self, registration: NewRegistration, **options: Unpack[CallOptions]
    ) -> SentRegistration:
        """Ask the holder of an account to let you act for them.

        Store a `request_id` as for `create_personal`. Not repeated when its outcome is unknown.
        """
        sent = self._post("register_account", registration, options, once=True)
        return cast(SentRegistration, sent)

    def balance(self, mobile_number: str, **options: Unpack[CallOptions]) -> Balance:
        """Read the balance of an account."""
        query = {"mobile_number": mobile_number}
        return cast(
            Balance, self._send(Call("GET", "/account/balance", _VERSION, query=query), options)
        )

    def transactions(
        self, filter: AccountTransactionFilter, **options: Unpack[CallOptions]
    ) -> PageList[AccountTransaction]:
        """List the transactions of an account, newest first; the last seven days unless the filter says otherwise."""

        def fetch_page(cursor: str | None) -> Page[AccountTransaction]:
            found = self._post("transaction_history", {**filter, "cursor": cursor}, options)
            return Page(found["data"]["transactions"], found["data"]["next_cursor"])

        return PageList(fetch_page)


def _created(made: dict[str, Any]) -> CreatedAccount:
    return cast(CreatedAccount, {**made["data"], "request_id": made["request_id"]})
