"""Seals values for the API and opens those that it sends: AES-256-GCM in the wire format of Google Tink.

Needs the package `cryptography`: `pip install 'payweave[seal]'`.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Purpose = Literal["session_token", "authorisation-token"]

_WIRE_VERSION = b"\x01"
_HEADER_BYTES = 5
_IV_BYTES = 12
_TAG_BYTES = 16


@dataclass(frozen=True)
class SealingKey:
    """A shared key of an institution: its 8 hex digits, and base64 of its 32 bytes."""

    key_id: str
    shared_key: str = field(repr=False)


def seal_value(text: str, key: SealingKey, purpose: Purpose = "session_token") -> str:
    """Seal a text, such as the session token of an institution transaction (`session_token_enc`).

    Raises a ValueError that names the mistake in the key.
    """
    iv = os.urandom(_IV_BYTES)
    sealed = _cipher(key).encrypt(iv, text.encode(), purpose.encode())
    return base64.b64encode(_header(key) + iv + sealed).decode()


def open_value(sealed: str, keys: Sequence[SealingKey], purpose: Purpose) -> str:
    """Open a sealed value with the key that it names. Raises a ValueError that names the mistake."""
    try:
        data = base64.b64decode(sealed, validate=True)
    except ValueError as error:
        raise ValueError("the value is not sealed") from error
    is_long = len(data) >= _HEADER_BYTES + _IV_BYTES + _TAG_BYTES
    if not is_long or not data.startswith(_WIRE_VERSION):
        raise ValueError("the value is not sealed")
    named = data[:_HEADER_BYTES]
    key = next((candidate for candidate in keys if _header(candidate) == named), None)
    if key is None:
        raise ValueError(f"the value is sealed under key {named[1:].hex()}, which is not among the given keys")
    iv_end = _HEADER_BYTES + _IV_BYTES
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(data[_HEADER_BYTES:iv_end], data[iv_end:], purpose.encode()).decode()
    except InvalidTag as error:
        raise ValueError(f"the value is not sealed as {purpose} with this key") from error


def _header(key: SealingKey) -> bytes:
    if re.fullmatch("[0-9a-fA-F]{8}", key.key_id) is None:
        raise ValueError("key_id must be 8 hex digits")
    return _WIRE_VERSION + bytes.fromhex(key.key_id)


def _cipher(key: SealingKey) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise RuntimeError("sealed values need cryptography: pip install 'payweave[seal]'") from error
    try:
        shared_key = base64.b64decode(key.shared_key, validate=True)
    except ValueError:
        shared_key = b""
    if len(shared_key) != 32:
        raise ValueError("shared_key must be base64 of 32 bytes")
    return AESGCM(shared_key)
