"""Payments by Payweave: typed calls, safe retries, pages, sealed values and webhooks."""

from ._transport import ApiResponse, CallOptions
from ._version import __version__
from ._wait import WaitOptions
from .client import Payweave
from .errors import PayweaveError, WaitError, WebhookError
from .pages import Page, PageList
from .pushes import Push, SignedCallback, read_push, verify_onboarding_callback, verify_signature
from .seal import SealingKey, open_value, seal_value

__all__ = [
    "ApiResponse",
    "CallOptions",
    "Page",
    "PageList",
    "Payweave",
    "PayweaveError",
    "Push",
    "SealingKey",
    "SignedCallback",
    "WaitError",
    "WaitOptions",
    "WebhookError",
    "__version__",
    "open_value",
    "read_push",
    "seal_value",
    "verify_onboarding_callback",
    "verify_signature",
]
