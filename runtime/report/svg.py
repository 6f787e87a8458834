"""SVG from matplotlib, adapted to a page: no inline styles (the CSP forbids them), themed colours.

The result for files and the one for the page differ only in colours: the page's are CSS variables,
so that a figure follows light and dark.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from .figures.style import PICK, VARIABLES

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# Two decimals of a point are 1/7200 inch.
_DECIMALS = 2
_ROUNDED = ("d", "points", "x", "y", "width", "height", "transform", "stroke-width", "font-size")
_FONT = re.compile(r"^(?:(?P<weight>bold|\d{3}) )?(?P<size>[\d.]+)px (?P<family>.+)$")


def tidy(raw: str, name: str, alt: str) -> str:
    """Return a stand-alone SVG without inline styles, unused ids and metadata.

    raw: what matplotlib wrote. name: prefix of the ids that stay, unique on a page.
    alt: becomes the image's label. Raises ValueError for a style that has no attribute.
    """
    ET.register_namespace("", _SVG)
    root = ET.fromstring(raw)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    ids = _referenced(root)
    for element in root.iter():
        _unstyle(element)
        old = element.attrib.pop("id", None)
        if old is not None and old.startswith(PICK):
            element.set("data-pick", old.removeprefix(PICK))
        if old in ids:
            element.set("id", f"{name}-{ids[old]}")
        link = element.attrib.pop(f"{{{_XLINK}}}href", None)
        if link is not None:
            element.set("href", f"#{name}-{ids[link[1:]]}")
        for key, value in element.attrib.items():
            if key in _ROUNDED:
                element.set(key, _NUMBER.sub(_round, value))
            elif "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda m: f"url(#{name}-{ids[m[1]]})", value))
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    root.set("role", "img")
    root.set("aria-label", alt)
    return ET.tostring(root, encoding="unicode") + "\n"


def themed(svg: str, css_class: str) -> str:
    """Return the SVG for inlining: the style's colours as CSS variables, sized by the page."""
    for colour, variable in VARIABLES.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{variable})"')
    head, tail = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return f'{head} class="{css_class}">{tail}'.strip()


def _referenced(root: ET.Element) -> dict[str, str]:
    """Return the ids that something points at, with short new names in order of appearance."""
    used: dict[str, str] = {}
    for element in root.iter():
        targets = [m for value in element.attrib.values() for m in _REFERENCE.findall(value)]
        link = element.get(f"{{{_XLINK}}}href")
        for target in [*targets, *([link[1:]] if link else [])]:
            used.setdefault(target, str(len(used)))
    return used


def _round(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _unstyle(element: ET.Element) -> None:
    """Turn a `style` attribute into presentation attributes."""
    style = element.attrib.pop("style", "")
    # A family name in quotes holds no semicolon in the style that figures use.
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            font = _FONT.match(value)
            if font is None:
                raise ValueError(f"a font that has no attributes: {value}")
            element.set("font-size", font["size"])
            element.set("font-family", font["family"].replace("'", ""))
            if font["weight"]:
                element.set("font-weight", font["weight"])
        else:
            element.set(key, value)
