"""What a changed detector loses against the original one: average precision, agreement, SQNR of scores, with intervals over pictures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from detector_heads import Boxes, overlaps

REFERENCE_SCORE = 0.25  # what the original detects
SCORE_THAT_COUNTS = 0.02  # scores that are lower in both networks decide nothing
RESAMPLES = 500


@dataclass
class Picture:
    """One picture: what was to be found, and of what was found the score and whether it is right."""

    truths: int
    found: np.ndarray  # scores
    right: np.ndarray  # booleans
    noise: float = 0.0
    signal: float = 0.0


def compare(truth: Boxes, found: Boxes, overlap: float = 0.5) -> Picture:
    """COCO's matching: the best score first, each with the best box of its class that is left."""
    free = np.ones(len(truth), bool)
    right = np.zeros(len(found), bool)
    for i in np.argsort(-found[:, 4], kind="stable"):
        able = free & (truth[:, 5] == found[i, 5])
        if not able.any():
            continue
        shares = np.where(able, overlaps(found[i], truth), 0)
        best = int(shares.argmax())
        if shares[best] >= overlap:
            free[best], right[i] = False, True
    return Picture(len(truth), found[:, 4], right)


def average_precision(pictures: list[Picture]) -> float:
    """Mean precision at 101 recalls, all classes together."""
    truths = sum(p.truths for p in pictures)
    if truths == 0:
        return float("nan")
    scores, right = (np.concatenate([getattr(p, k) for p in pictures]) for k in ("found", "right"))
    right = right[np.argsort(-scores, kind="stable")]
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(hits / truths, np.linspace(0, 1, 101) - 1e-9)
    return float(np.where(at < len(right), precision[np.minimum(at, max(0, len(right) - 1))], 0).mean()) if len(right) else 0.0


def agreement(pictures: list[Picture]) -> float:
    """How alike the detections of both networks are at the usual threshold (Dice coefficient)."""
    found = sum(int((p.found >= REFERENCE_SCORE).sum()) for p in pictures)
    both = sum(int((p.right & (p.found >= REFERENCE_SCORE)).sum()) for p in pictures)
    truths = sum(p.truths for p in pictures)
    return 2 * both / (found + truths) if found + truths else 1.0


def sqnr_db(pictures: list[Picture]) -> float:
    noise, signal = sum(p.noise for p in pictures), sum(p.signal for p in pictures)
    return float(10 * np.log10(signal / noise)) if noise > 0 and signal > 0 else 120.0


def interval(statistic, *sets: list[Picture]) -> tuple[float, float]:
    """95 % of what other pictures would give: pictures drawn again and again (bootstrap)."""
    chance = np.random.default_rng(3)
    values = []
    for _ in range(RESAMPLES):
        drawn = chance.integers(0, len(sets[0]), len(sets[0]))
        values.append(statistic(*[[pictures[i] for i in drawn] for pictures in sets]))
    low, high = np.nanpercentile(values, (2.5, 97.5))
    return float(low), float(high)


@dataclass
class Comparison:
    """Pictures of one changed network, added one by one."""

    head: object
    overlap: float = 0.5
    pictures: list[Picture] = field(default_factory=list)
    strict: list[Picture] = field(default_factory=list)  # at an overlap of 0.75

    def add(self, expected, got) -> None:
        truth, found = self.head.boxes(expected), self.head.boxes(got)
        truth = truth[truth[:, 4] >= REFERENCE_SCORE]
        picture = compare(truth, found, self.overlap)
        a, b = (np.asarray(self.head.scores(o), np.float64).ravel() for o in (expected, got))
        counts = np.maximum(a, b) >= SCORE_THAT_COUNTS
        picture.noise, picture.signal = float(((a - b)[counts] ** 2).sum()), float((a[counts] ** 2).sum())
        self.pictures.append(picture)
        self.strict.append(compare(truth, found, 0.75))

    def figures(self) -> dict:
        p = self.pictures
        return {"ap": average_precision(p), "ap_interval": interval(average_precision, p), "ap75": average_precision(self.strict),
                "agreement": agreement(p), "agreement_interval": interval(agreement, p), "scores_db": sqnr_db(p),
                "detections": sum(x.truths for x in p)}

    def against(self, other: "Comparison") -> dict:
        """This less the other, on the same pictures."""
        result = {}
        for name, statistic in (("ap", average_precision), ("agreement", agreement), ("scores_db", sqnr_db)):
            result[name] = interval(lambda a, b: statistic(a) - statistic(b), self.pictures, other.pictures)
        return result
