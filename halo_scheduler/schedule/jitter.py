"""A stable spread: the same job and grid point always get the same small delay."""

from __future__ import annotations


def jitter_ms(key: str, point_at: int, distance_ms: int, percent: int) -> int:
    """Return the delay for a grid point: from 0 to `percent` of the distance to the following one."""
    spread_ms = distance_ms * percent // 100
    if spread_ms <= 0:
        return 0
    from hashlib import blake2b  # noqa: PLC0415 - 5 ms that jobs without jitter never pay

    digest = blake2b(f"{key}:{point_at}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % (spread_ms + 1)
