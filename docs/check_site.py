"""Follow every link of the built site, and look for anything that it would load from elsewhere.

    python docs/check_site.py site

Prints what is wrong, one line each, and exits with 1 if there was anything.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
KEPT = {"canonical", "search", "author"}  # kinds of <link> that load nothing


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag in LOADED and LOADED[tag] in attributes and attributes.get("rel") not in KEPT:
            self.loads.append(attributes[LOADED[tag]])


def complaints(site: Path) -> list[str]:
    """Dead links, anchors that are not there, and what comes from another host."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts  # the theme's templates
    }
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        for target in page.loads:
            if urlsplit(target).netloc:
                wrong.append(f"{name}: loads {target}")
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            aim = aim / "index.html" if aim.is_dir() else aim
            if not aim.exists():
                wrong.append(f"{name}: no file {target}")
            elif not _there(unquote(parts.fragment), pages.get(aim)):
                wrong.append(f"{name}: no anchor {target}")
    return sorted(set(wrong))


def _there(anchor: str, page: Page | None) -> bool:
    """Whether a page has the anchor; `#key=value` is for a page's own script."""
    return page is None or not anchor or "=" in anchor or anchor in page.anchors


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]))
    print(
        "\n".join(wrong)
        or "all links of the site lead somewhere, and nothing is loaded from elsewhere"
    )
    sys.exit(bool(wrong))
