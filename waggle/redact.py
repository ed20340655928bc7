"""Masking of secrets, so that none reaches the disk, a log or a screen.

Not responsible for where values are written; whoever writes one passes it through here. A secret is known by the name
it is given (``password``, ``X-Api-Key``, ``--token``) or by its own shape (``Bearer …``, ``ghp_…``, a PEM block,
``user:password@`` in an address). It is masked whole, always by the same text, and masking twice changes nothing.

Where a name says secret and a literal value follows, it is masked; where the text reads as source code
(``password: str``, ``token = next_token()``, ``password=$PASSWORD``), it is left. What neither a name nor a shape gives
away, such as a password alone on a line, is not found.

Costs time linear in the text: every repetition is bounded or cannot overlap the next one.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.jsonvalue import JsonValue

__all__ = ["MASK", "is_masked", "redact_text", "redact_value"]

#: What stands in the place of a secret. Made of word characters, so that it needs no quoting: not in JSON, not in a
#: shell command, not in an address.
MASK: Final = "__REDACTED_BY_WAGGLE__"

_DEPTH_LIMIT: Final = 200  #: nesting beyond which a value is masked unseen; `jsonvalue.to_json` stops there, too
_PASSES: Final = 4  #: over one text, at most; what one rule has masked may make another see something

# --- names -------------------------------------------------------------------------------------------------

#: How a secret's name ends, in small letters. ``max_tokens``, ``tokenizer``, ``token_count`` and ``secret_name`` do not
#: end so. Each alternative begins with a plain letter, so that a search skips all other letters: ten times faster.
_NAME_END: Final = "|".join(
    [
        *("pass(?:words?|wd|phrase|code)?", "pwd", "secrets?", "token", "jwt"),
        *("authorization", "credentials?", "cookies?"),
        *("api[-_ ]?keys?", "access[-_ ]?keys?", "secret[-_ ]?keys?", "private[-_ ]?keys?", "signing[-_ ]?keys?"),
        *("encryption[-_ ]?keys?", "auth[-_ ]?keys?", "account[-_ ]?keys?", "master[-_ ]?keys?", "shared[-_ ]?keys?"),
    ]
)
_SECRET_NAME: Final = re.compile(rf"(?:{_NAME_END})\Z")
#: Ends so and is none: a place in a list that is read page by page, and the passes of a loop; ``DB_PASS`` is one.
_HARMLESS_NAME: Final = re.compile(
    r"(?:(?i:next|page|continuation|pagination|sync)[-_ ]?(?i:token)|[Pp]ass|(?<!_)PASS)\Z"
)
_NAME_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_LONGEST_NAME: Final = 60  #: of a name, so many characters at its end are looked at


def _names_secret(name: str) -> bool:
    end = name[-_LONGEST_NAME:]
    return bool(_SECRET_NAME.search(end.lower())) and not _HARMLESS_NAME.search(end)


# --- values ------------------------------------------------------------------------------------------------


def redact_value(value: JsonValue) -> JsonValue:
    """Mask the secrets in a JSON value.

    Under a name that says secret every text and number is masked, at any depth; ``null``, booleans and empty texts
    stay. The name may be a key, the ``name`` beside a ``value``, or an option before the next item of a list. All other
    texts, keys included, go through `redact_text`.

    Returns:
        A value of the same form; the given one is not changed.
    """
    return _redacted(value, 0)


def _redacted(value: JsonValue, depth: int) -> JsonValue:
    if isinstance(value, str):
        return redact_text(value)
    if depth > _DEPTH_LIMIT and isinstance(value, list | dict):
        return MASK
    if isinstance(value, list):
        return [
            _hidden(item, depth + 1) if _is_option(before) else _redacted(item, depth + 1)
            for before, item in zip([None, *value], value, strict=False)
        ]
    if isinstance(value, dict):
        name = next((value[key] for key in ("name", "key", "header") if isinstance(value.get(key), str)), None)
        tells = isinstance(name, str) and _names_secret(name)
        return {
            _redacted_key(key): _hidden(item, depth + 1)
            if (_names_secret(key) and not _is_working_directory(key, item)) or (tells and key == "value")
            else _redacted(item, depth + 1)
            for key, item in value.items()
        }
    return value


def _redacted_key(key: str) -> str:
    return key if len(key) < 15 else redact_text(key)  # noqa: PLR2004 - no marked key is shorter


def _is_working_directory(key: str, item: JsonValue) -> bool:
    return key.lower() in ("pwd", "oldpwd") and isinstance(item, str) and item.startswith(("/", "~", "."))


def _is_option(item: JsonValue) -> bool:
    return isinstance(item, str) and item.startswith("-") and _names_secret(item)


def _hidden(value: JsonValue, depth: int) -> JsonValue:
    """What stands under a secret's name."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, list) and depth <= _DEPTH_LIMIT:
        return [_hidden(item, depth + 1) for item in value]
    if isinstance(value, dict) and depth <= _DEPTH_LIMIT:
        return {_redacted_key(key): _hidden(item, depth + 1) for key, item in value.items()}
    return MASK


def is_masked(value: JsonValue) -> bool:
    """Whether a mask stands anywhere in a value, so that it must not be sent to a tool."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if MASK in item:
                return True
        elif isinstance(item, list):
            left += item
        elif isinstance(item, dict):
            left += item.keys()
            left += item.values()
    return False


# --- texts -------------------------------------------------------------------------------------------------


def redact_text(text: str) -> str:
    """Mask the secrets in a text: prose, a command line, source code, or JSON as text.

    Costs about 4 µs for a short text in which nothing looks like one, and 0.1 s for a megabyte in which much does.
    """
    for _ in range(_PASSES):
        masked = _one_pass(text)
        if masked == text:
            break
        text = masked
    return text


def _one_pass(text: str) -> str:
    small = text.lower()
    for needle, pattern, replacement in _SHAPES:
        if needle in small:
            text = pattern.sub(replacement, text)
    for hint in _HINTS:
        if hint in small:
            return _mask_named(text)
    return text


def _pem(match: re.Match[str]) -> str:
    return MASK if _PEM_BODY.search(match[1]) else match[0]


_PEM_BODY: Final = re.compile(r"[A-Za-z0-9+/=]{16}")


def _user_info(match: re.Match[str]) -> str:
    user, password = match[1], match[2]
    if password is None:  # ``git@`` is no secret, a long name is a token
        return match[0] if len(user) < 20 else f"://{MASK}@"  # noqa: PLR2004
    return match[0] if not password[1:] or _REFERENCE.fullmatch(password[1:]) else f"://{MASK}@"


def _sk_key(match: re.Match[str]) -> str:
    # Many class names of web pages begin so, too, but their parts are words or short numbers.
    parts = re.split(r"[-_.]", match[1])
    return MASK if any(len(part) >= 8 and not part.isalpha() for part in parts) else match[0]  # noqa: PLR2004


def _bearer(match: re.Match[str]) -> str:
    return match[1] + MASK if _TOKEN_LIKE.search(match[2]) else match[0]


_TOKEN_LIKE: Final = re.compile(r"\d|[a-z][A-Z]|\w\.\w|.{20}")  # and not the next word of a sentence


def _basic(match: re.Match[str]) -> str:
    try:
        plain = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return match[0]
    return match[1] + MASK if b":" in plain else match[0]


def _curl_user(match: re.Match[str]) -> str:
    return match[0] if _REFERENCE.fullmatch(match[2].partition(":")[2]) else match[1] + MASK


#: What secrets look like: a text in small letters without which there is none, the pattern, and what it becomes. Each
#: pattern begins with a plain letter or a set of them, before it looks back: that lets the search skip the others.
_SHAPES: Final[tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (
        "private key",  # one whose end is missing was cut; then all that may be of it goes
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
            r"([\w+/=\s\\:,.\"']*(?:-(?!----)[\w+/=\s\\:,.\"']*)*)"
            r"(?:-----END [A-Z0-9 ]{0,60}-----)?"
        ),
        _pem,
    ),
    ("://", re.compile(r"://([^\s/?#@:\"'<>`\\]*)(:[^\s/?#\"'<>`\\]*)?@(?=[\w\[$.{-])"), _user_info),
    (
        "://",  # parameters that are secrets in an address but not elsewhere; `_mask_named` finds the others
        re.compile(r"([?&;](?i:key|sig|signature|auth|x-amz-(?:signature|credential))=)[^\s&#\"'<>`\\]{16,}"),
        rf"\1{MASK}",
    ),
    ("bearer", re.compile(r"([bB](?<![A-Za-z0-9].)(?i:earer)[ \t]{1,4})([\w.~+/=-]{6,})"), _bearer),
    ("basic", re.compile(r"([bB](?<![A-Za-z0-9].)(?i:asic)[ \t]{1,4})([A-Za-z0-9+/]{4,}={0,2})"), _basic),
    (
        "curl",
        re.compile(r"(-(?<!\S-)(?:u|-user|-proxy-user)[ \t=]{0,4}[\"']?)([^\s:\"']{1,200}:[^\s\"']+)"),
        _curl_user,
    ),
    ("k-", re.compile(r"[sr](?<![A-Za-z0-9].)k-([\w-]{12,}(?:\.[\w-]+)*)"), _sk_key),
    ("k_", re.compile(r"[sr](?<![A-Za-z0-9].)k_([\w-]{12,}(?:\.[\w-]+)*)"), _sk_key),
    *(
        (start.lower(), re.compile(rf"{start[0]}(?<![A-Za-z0-9].){re.escape(start[1:])}{rest}"), MASK)
        for start, rest in {  # keys that their issuer marks
            "AKIA": r"[A-Z0-9]{12,}",
            "ASIA": r"[A-Z0-9]{12,}",
            "AIza": r"[\w-]{30,}",
            "AGE-SECRET-KEY-": r"[A-Z0-9]{20,}",
            "GOCSPX-": r"[\w-]{16,}",
            "SG.": r"[\w-]{16,}\.[\w-]{16,}",
            "dop_v1_": r"\w{16,}",
            "eyJ": r"[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*",
            "ghp_": r"\w{16,}",
            "gho_": r"\w{16,}",
            "ghu_": r"\w{16,}",
            "ghs_": r"\w{16,}",
            "ghr_": r"\w{16,}",
            "github_pat_": r"\w{16,}",
            "glpat-": r"[\w-]{16,}(?:\.[\w-]+)*",
            "glsa_": r"\w{16,}",
            "gsk_": r"\w{20,}",
            "hf_": r"[A-Za-z0-9]{20,}",
            "hooks.slack.com/services/": r"[\w/]{16,}",
            "lin_api_": r"\w{16,}",
            "npm_": r"[A-Za-z0-9]{30,}",
            "pypi-": r"[\w-]{40,}",
            "shpat_": r"\w{16,}",
            "xai-": r"[A-Za-z0-9]{20,}",
            "xapp-": r"[\w-]{16,}",
            "xox": r"[a-z]-[\w-]{10,}",
            "ya29.": r"[\w-]{16,}",
        }.items()
    ),
)

# --- a name, then a value ----------------------------------------------------------------------------------

_HINTS: Final = ("pass", "pwd", "secret", "token", "jwt", "authorization", "credential", "cookie", "key")

#: A name's end, the quote that closes it, what separates it from its value, the quote that opens that. The separator
#: may hold a type, as in ``password: str = "…"``. JSON in JSON in JSON has quotes behind up to seven backslashes.
_NAMED: Final = re.compile(
    rf"(?P<word>{_NAME_END})"
    r"(?P<close>\\{0,15}[\"'`]\]?)?"
    r"(?P<sep>[ \t]{0,4}(?:=>|:=|={1,3}|:(?:[ \t]{0,4}[a-z_][\w.|\[\] ]{0,30}=(?=[ \t]{0,4}[\"']))?)[ \t]{0,4}"
    r"|[ \t]{1,4}|>)"
    r"(?P<open>[bfru]{0,2}\\{0,15}[\"'`])?"
)
_BARE: Final = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\]*")
_ELEMENT: Final = re.compile(r"[^<\n]*")
_HEADER_VALUE: Final = re.compile(r"[^\r\n\"'`\\]*")
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)(?:[ \t]+|\Z)", re.IGNORECASE)
_LINE_START: Final = re.compile(r"(?:^|\n)(?:export |set |env )?\Z")
_LIST_START: Final = re.compile(r"(?:^|\n)[ \t]{0,32}(?:- )?\Z")
_SMALL_LETTERS: Final = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_LINE_END: Final = re.compile(r"[ \t]{0,32}(?:\r?\n|#|\Z)")

#: What points to a secret and is none: a variable, a place to fill in.
_REFERENCE: Final = re.compile(
    r"(?:(?:bearer|basic|token)[ \t]+)?"
    r"(?:\$\{?[A-Za-z_]+\}?|\$\(.*|\$?\{.*\}|<.*>|\[.*\]|%\(?\w*\)?[sr]|\.{3,}|\*{3,}|[xX]{3,})",
    re.IGNORECASE,
)
_NO_VALUES: Final = frozenset(
    {"any", "auto", "bool", "boolean", "bytes", "false", "float", "int", "integer", "nil", "none", "null", "number"}
    | {"object", "optional", "required", "self", "str", "string", "text", "true", "undefined", "unknown"}
)
_TYPE_OR_VERSION: Final = re.compile(r"(?:u?int|float|[iuf]|utf-?|sha-?|base|oauth|v)\d+", re.IGNORECASE)
_DOTTED_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def _mask_named(text: str) -> str:
    done: list[str] = []
    at = 0  # up to here the text is in `done`
    start = 0  # from here on it has not been looked at
    small = text.lower()
    if len(small) != len(text):  # a letter whose small form is two: places would not agree
        small = text.translate(_SMALL_LETTERS)
    while match := _NAMED.search(small, start):
        begin, end = _Named(text, match).secret()
        if begin < end:
            done += (text[at:begin], MASK)
            at = end
        start = max(end, match.end("sep"))
    done.append(text[at:])
    return "".join(done)


class _Named:
    """A place in a text where the name of a secret stands before something that may be its value."""

    def __init__(self, text: str, match: re.Match[str]) -> None:
        before = text[max(0, match.start() - _LONGEST_NAME) : match.start()]
        head = before.rstrip(_NAME_CHARACTERS)
        self.text = text
        self.match = match
        self.name = before[len(head) :] + text[slice(*match.span("word"))]
        self.head = head if len(before) < _LONGEST_NAME or "\n" in head else f"?{head}"  # `?`: its line starts before
        self.sep = match["sep"].strip()

    def secret(self) -> tuple[int, int]:
        """Span of the value; an empty one, from where to go on, when it is no secret."""
        if self._is_harmless():
            return 0, 0
        if self.match["open"]:
            return self._quoted()
        begin = self.match.end("sep")
        if self.sep == ">":
            end = _span(_ELEMENT, self.text, begin)
            return begin if self.text.startswith("</", end) else end, end
        if self._is_header():
            return self._header(begin)
        end = _span(_BARE, self.text, begin)
        word = self.text[begin:end]
        return begin if self._is_literal(word, end) and self._is_bare_secret(word, end) else end, end

    def _is_harmless(self) -> bool:
        if not self.sep and not self.name.startswith("-"):  # only an option is followed by its value after a blank
            return True
        if self.sep == ">" and not self.head.endswith("<"):  # only an element is
            return True
        return bool(_HARMLESS_NAME.search(self.name))

    def _is_header(self) -> bool:
        if self.sep != ":" or self.match["close"]:
            return False
        return "-" in self.name.strip("-") or self.name.lower() in ("authorization", "cookie")

    def _header(self, begin: int) -> tuple[int, int]:
        begin = _span(_SCHEME, self.text, begin)
        end = _span(_BARE, self.text, begin)
        word = self.text[begin:end]
        if not self._is_literal(word, end) or ("-" not in self.name and word.isalpha()):
            return end, end  # ``authorization: Optional``, or the word in a sentence
        line_end = _span(_HEADER_VALUE, self.text, end)
        return begin, begin + len(self.text[begin:line_end].rstrip())

    def _is_literal(self, word: str, end: int) -> bool:
        """Whether a word without quotes is a value: no call, index, variable, path, type, or place to fill in."""
        if not word or word[0] in "$/~." or self.text[end : end + 1] in tuple("([{<") or word.lower() in _NO_VALUES:
            return False
        return not _REFERENCE.fullmatch(word) and not _TYPE_OR_VERSION.fullmatch(word)

    def _is_bare_secret(self, word: str, end: int) -> bool:
        if not self.sep:
            return word[0] != "-" and not (word.isupper() and word.isalpha())  # ``--token TOKEN`` in a help text
        if self.match["sep"] == "=":
            sure = self.name.startswith("-") or self.name.isupper() or self.head.endswith(("?", "&"))
            if sure or self.text.startswith("&", end):
                return True
            if _LINE_START.search(self.head) and _LINE_END.match(self.text, end):
                return True
        if self.sep == ":" and _LIST_START.search(self.head) and _LINE_END.match(self.text, end):
            return not word[0].isupper() and not _DOTTED_NAME.fullmatch(word)  # YAML; a type begins with a capital
        return _is_mixed(word)

    def _quoted(self) -> tuple[int, int]:
        quote = self.match["open"].lstrip("bfru")
        if not self.match["close"] and self.head.endswith(quote[-1]):
            return 0, 0  # this quote ends the text that the name is in: ``grep "password=" src``
        begin = self.match.end("open")
        end = _span(_upto(quote), self.text, begin)
        value = self.text[begin:end]
        if not value or value[0] in " \t,;:)]}" or value[-1].isspace() or value.lower() in _NO_VALUES:
            return 0, 0  # the quote closed something else
        if _REFERENCE.fullmatch(value) or (self.match["word"] == "pwd" and value[0] in "/~."):
            return 0, 0
        closed = self.text.startswith(quote, end)
        return (begin, end) if closed or (_is_mixed(value) and " " not in value) else (0, 0)


def _is_mixed(value: str) -> bool:
    """Whether a word has letters and digits as a made-up secret has, and as names and types seldom have."""
    digits = sum(map(str.isdigit, value))
    if len(value) < 6 or not digits or not any(map(str.isalpha, value)):  # noqa: PLR2004
        return False
    return digits > 2 or not _DOTTED_NAME.fullmatch(value)  # noqa: PLR2004


def _span(pattern: re.Pattern[str], text: str, begin: int) -> int:
    """Where a pattern's match at a place ends; the place itself when there is none."""
    match = pattern.match(text, begin)
    return match.end() if match else begin


@functools.cache
def _upto(quote: str) -> re.Pattern[str]:
    """What lies before a closing quote, or before the line's end when it does not come."""
    mark = quote[-1]
    if len(quote) == 1:
        return re.compile(rf"[^{mark}\\\n]*(?:\\.[^{mark}\\\n]*)*")
    return re.compile(rf"[^\n]*?(?=(?<!\\){re.escape(quote)}|\n|\Z)")
