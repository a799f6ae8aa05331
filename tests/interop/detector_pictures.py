"""Pictures for detectors, the same in every run: photographs, text on photographs, pages of documents."""

from __future__ import annotations

import pathlib
import random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from labelled_images import imagenet_files

WORDS = "the quick brown fox invoice total amount 2026 London street 42 kg price model device camera serial batch hello".split()


def spread_files(count: int) -> list[pathlib.Path]:
    """So many of the photographs, spread over the classes and in an order in which any run of them is as mixed as all."""
    files = imagenet_files()
    files = files[:: max(1, len(files) // count)][:count]
    random.Random(11).shuffle(files)
    return files


def photographs(count: int, width: int, height: int) -> list[np.ndarray]:
    return [np.asarray(Image.open(file).convert("RGB").resize((width, height)), np.uint8) for file in spread_files(count)]


def words_on_photographs(count: int, width: int, height: int) -> list[np.ndarray]:
    """Words of many sizes and colours, some turned, on photographs that are a little dimmed."""
    choose = random.Random(7)
    pictures = []
    for file in spread_files(count):
        picture = Image.open(file).convert("RGB").resize((width, height))
        picture = Image.blend(picture, Image.new("RGB", picture.size, (choose.randint(0, 255),) * 3), choose.uniform(0.1, 0.6))
        for _ in range(choose.randint(2, 7)):
            text = choose.choice(WORDS) if choose.random() < 0.6 else " ".join(choose.choice(WORDS) for _ in range(3))
            font = ImageFont.load_default(choose.randint(16, 44))
            left, top, right, bottom = font.getbbox(text)
            patch = Image.new("L", (int(right - left) + 6, int(bottom - top) + 6), 0)
            ImageDraw.Draw(patch).text((3 - left, 3 - top), text, fill=255, font=font)
            patch = patch.rotate(choose.uniform(-25, 25) if choose.random() < 0.4 else 0, expand=True)
            place = (choose.randint(0, max(0, width - patch.width)), choose.randint(0, max(0, height - patch.height)))
            colour = tuple(choose.choice((choose.randint(0, 70), choose.randint(185, 255))) for _ in range(3))
            picture.paste(colour, (*place, place[0] + patch.width, place[1] + patch.height), patch)
        pictures.append(np.asarray(picture, np.uint8))
    return pictures


def lines_of_words(count: int, width: int, height: int) -> list[np.ndarray]:
    """One line of words for each picture, as recognisers of text get them; narrow lines leave the right side grey."""
    choose = random.Random(13)
    pictures = []
    for _ in range(count):
        ground, ink = choose.choice(((choose.randint(180, 255), choose.randint(0, 70)), (choose.randint(0, 70), choose.randint(185, 255))))
        picture = Image.new("RGB", (width, height), (127, 127, 127))
        text, font = " ".join(choose.choice(WORDS) for _ in range(choose.randint(1, 3))), ImageFont.load_default(choose.randint(24, 36))
        right = min(width, int(font.getlength(text)) + 10)
        draw = ImageDraw.Draw(picture)
        draw.rectangle((0, 0, right, height), fill=(ground,) * 3)
        draw.text((5, choose.randint(2, 10)), text, fill=(ink, choose.randint(min(ink, 200), 255) if ink > 100 else ink, ink), font=font)
        pictures.append(np.asarray(picture, np.uint8))
    return pictures


def pages(count: int, width: int, height: int) -> list[np.ndarray]:
    """Pages of documents: titles, paragraphs in one or two columns, figures with captions, tables, headers and footers."""
    choose = random.Random(5)
    files = spread_files(count)
    return [np.asarray(_page(choose, width, height, files), np.uint8) for _ in range(count)]


def _text(choose: random.Random, draw: ImageDraw.ImageDraw, left: int, top: int, right: int, size: int, bold: bool = False) -> int:
    """One line that fills the width about; returns where the next begins."""
    font = ImageFont.load_default(size)
    line = choose.choice(WORDS).capitalize()
    while True:
        longer = f"{line} {choose.choice(WORDS)}"
        if draw.textlength(longer, font=font) > right - left:
            break
        line = longer
    draw.text((left, top), line, fill=(20, 20, 20), font=font, stroke_width=1 if bold else 0, stroke_fill=(20, 20, 20))
    return top + int(size * 1.35)


def _table(choose: random.Random, draw: ImageDraw.ImageDraw, left: int, top: int, right: int) -> int:
    rows, columns, row_height = choose.randint(3, 8), choose.randint(3, 6), 18
    for row in range(rows + 1):
        draw.line((left, top + row * row_height, right, top + row * row_height), fill=(60, 60, 60))
    for column in range(columns + 1):
        x = left + column * (right - left) // columns
        draw.line((x, top, x, top + rows * row_height), fill=(60, 60, 60))
        for row in range(rows if column < columns else 0):
            draw.text((x + 3, top + row * row_height + 3), choose.choice(WORDS), fill=(30, 30, 30), font=ImageFont.load_default(10))
    return top + rows * row_height + 14


def _column(choose: random.Random, page: Image.Image, left: int, top: int, right: int, bottom: int, files: list[pathlib.Path]) -> None:
    draw = ImageDraw.Draw(page)
    while top < bottom - 60:
        kind = choose.choices(("paragraph", "title", "figure", "table"), (6, 2, 2, 1))[0]
        if kind == "paragraph":
            for _ in range(choose.randint(3, 9)):
                if top > bottom - 16:
                    break
                top = _text(choose, draw, left, top, right, 11)
            top += 10
        elif kind == "title":
            top = _text(choose, draw, left, top, left + (right - left) * 2 // 3, choose.randint(14, 20), bold=True) + 6
        elif kind == "table":
            top = _table(choose, draw, left, top, right)
        else:
            tall = min(choose.randint(80, 180), bottom - top - 30)
            if tall < 50:
                break
            page.paste(Image.open(choose.choice(files)).convert("RGB").resize((right - left, tall)), (left, top))
            top = _text(choose, draw, left + 20, top + tall + 4, right - 20, 10) + 10


def _page(choose: random.Random, width: int, height: int, files: list[pathlib.Path]) -> Image.Image:
    white = choose.randint(235, 255)
    page = Image.new("RGB", (width, height), (white, white, white - choose.randint(0, 12)))
    draw = ImageDraw.Draw(page)
    margin, top = choose.randint(30, 60), choose.randint(20, 40)
    if choose.random() < 0.7:
        top = _text(choose, draw, margin, top, margin + 200, 10) + 14
    if choose.random() < 0.6:
        top = _text(choose, draw, margin + 40, top, width - margin - 40, choose.randint(22, 30), bold=True) + 12
    bottom = height - 45
    if choose.random() < 0.5:
        _column(choose, page, margin, top, width - margin, bottom, files)
    else:
        middle = width // 2
        _column(choose, page, margin, top, middle - 8, bottom, files)
        _column(choose, page, middle + 8, top, width - margin, bottom, files)
    draw.text((width // 2, height - 30), str(choose.randint(1, 400)), fill=(40, 40, 40), font=ImageFont.load_default(10))
    return page
