"""Draws docs/figures/layers.svg: the packages, their sizes, and who imports whom.

    make figures

Rows and columns are packages in the order of docs/design/layers.md. A dot in a row stands for an
import of the package of its column; all dots lie left of the diagonal, because imports go in one
direction. Beside each name stands a bar of its files: the length is the lines, and a stroke ends
every file.
"""

from __future__ import annotations

from docs.layers import ROOT, edges, layers, modules, package_of

FIGURE = ROOT / "docs" / "figures" / "layers.svg"
CELL = 22
LEFT = 96
BARS = 300
TOP = 96
STYLE = (
    "text{font:12px sans-serif;fill:#333}.small{font-size:10px;fill:#777}.bar{fill:#9bbbd9}"
    ".cut{stroke:#fff;stroke-width:1}.grid{stroke:#eee}.own{fill:#eee}.dot{fill:#2b6ca3}"
)


def sizes() -> dict[str, list[int]]:
    """The lines of every file of every package."""
    found: dict[str, list[int]] = {}
    for module in modules():
        lines = module.read_text().count("\n")
        if lines:
            found.setdefault(package_of(module), []).append(lines)
    return found


def draw() -> str:
    """The picture as SVG text."""
    names, size, uses = list(layers()), sizes(), edges()
    width = LEFT + BARS + 70 + CELL * len(names) + 20
    height = TOP + CELL * len(names) + 40
    longest = max(sum(lines) for lines in size.values())
    matrix = LEFT + BARS + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<text x="{LEFT}" y="{TOP - 14}" class="small">files and lines</text>',
    ]
    for at, name in enumerate(names):
        x, y = matrix + CELL * at, TOP + CELL * at
        parts.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{name}</text>')
        parts += _bar(sorted(size[name], reverse=True), y, longest)
        parts.append(f'<rect class="own" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>')
        turned = f"rotate(-60 {x + 14} {TOP - 8})"
        parts.append(f'<text x="{x + 14}" y="{TOP - 8}" transform="{turned}">{name}</text>')
        right = matrix + CELL * len(names)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
    for (name, used), count in sorted(uses.items()):
        x = matrix + CELL * names.index(used) + CELL // 2
        y = TOP + CELL * names.index(name) + CELL // 2
        radius = min(9.0, 2.5 + count**0.5)
        title = f"<title>{name} imports {used}</title>"
        parts.append(f'<circle class="dot" cx="{x}" cy="{y}" r="{radius:.1f}">{title}</circle>')
    caption = "a dot: the package of the row imports that of the column; larger: in more files"
    parts.append(f'<text x="{LEFT}" y="{height - 14}" class="small">{caption}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _bar(lines: list[int], y: int, longest: int) -> list[str]:
    """The files of a package side by side, the longest first, and what they come to."""
    scale = BARS / longest
    total = sum(lines)
    size = f'width="{total * scale:.1f}" height="{CELL - 10}"'
    parts = [f'<rect class="bar" x="{LEFT}" y="{y + 5}" {size}/>']
    so_far = 0
    for length in lines[:-1]:
        so_far += length
        x = LEFT + so_far * scale
        parts.append(
            f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 5}" y2="{y + CELL - 5}"/>'
        )
    said = f"{len(lines)} · {total:,}"
    x = LEFT + total * scale + 5
    return [*parts, f'<text x="{x:.1f}" y="{y + 15}" class="small">{said}</text>']


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
