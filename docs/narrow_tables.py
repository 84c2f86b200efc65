"""Marks the tables of text, for stylesheets/narrow_tables.css.

A table of text has three or more columns, and a cell with a long text. It gets the attribute
`data-text`, and each of its cells gets the heading of its column as `data-heading`.
"""

import re

MIN_COLUMNS = 3
LONG_TEXT = 60  # characters


def text_of(element):
    return re.sub(r"<[^>]*>", "", element).strip()


def marked(match):
    table = match[0]
    headings = [text_of(cell) for cell in re.findall(r"<th\b.*?</th>", table, re.S)]
    cells = re.findall(r"<td\b.*?</td>", table, re.S)
    if len(headings) < MIN_COLUMNS or all(len(text_of(cell)) < LONG_TEXT for cell in cells):
        return table
    for number, cell in enumerate(cells):
        heading = headings[number % len(headings)]
        heading = heading[:1].upper() + heading[1:]
        table = table.replace(cell, cell.replace("<td", f'<td data-heading="{heading}: "', 1), 1)
    return table.replace("<table>", "<table data-text>", 1)


def on_page_content(html, **_):
    return re.sub(r"<table>.*?</table>", marked, html, flags=re.S)
