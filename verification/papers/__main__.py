"""Computes the page of the papers and writes it to verification/papers.md, as `python -m
verification.papers`."""

from __future__ import annotations

from verification.papers.page import PAGE, page


def main() -> None:
    """Computes the results for every row of every paper and writes the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.parent.name}/{PAGE.name}")


if __name__ == "__main__":
    main()
