"""Runs `python -m verification.papers`: writes verification/papers.md."""

from __future__ import annotations

from verification.papers.page import PAGE, page


def main() -> None:
    """Computes every row of every paper and writes the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.parent.name}/{PAGE.name}")


if __name__ == "__main__":
    main()
