"""What the claims of the paper come to here: judged by rule, in sentences filled from the data."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import scipy.stats

from .cells import OF_PAPER
from .figures import NAMES
from .significance import seconds_of_paper, wilcoxon
from .summary import Summaries, Summary, sets_of, speed_up

HOLDS, PARTLY, NOT = "holds", "holds partly", "does not hold"
LEVEL = 0.01  # of significance, as in the paper
USUALLY = 0.8  # the share of sets from which something is usual
FEWEST = 5  # sets for a statement about sets
CLEAR_LOSS = 0.5  # points of accuracy
SAME_GAP = 2.0  # gaps within this factor count as equal
RANK_LEVEL = 0.05  # one-tailed, of rank correlations of a few sets


@dataclass(frozen=True)
class Claim:
    """``says`` the paper, ``found`` and ``why`` say our data."""

    says: str
    verdict: str
    found: str
    why: str = ""


def by_share(share: float, enough: float = 1.0) -> str:
    """Of cases in which it is so."""
    return HOLDS if share >= enough else PARTLY if share > 0.5 else NOT


def by_test(p: float, share: float) -> str:
    """Significant, or at least so in most cases."""
    return HOLDS if p < LEVEL else PARTLY if share > 0.5 else NOT


# ------------------------------------------------------------------------------- time and accuracy


def faster(found: Summaries, solver: str) -> Claim | None:
    """FW or MFW against CVM on all sets."""
    names = sets_of(found, OF_PAPER)
    if len(names) < FEWEST:
        return None
    ratios = {name: speed_up(found, name, solver) or 0.0 for name in names}
    wins = [name for name in names if ratios[name] > 1]
    p = wilcoxon(*(_column(found, names, s, _seconds) for s in (solver, "cvm")), "less")[1]
    best = max(ratios, key=lambda name: ratios[name])
    theirs = seconds_of_paper()
    n_theirs = sum(theirs[solver][name] < theirs["cvm"][name] for name in names)
    return Claim(
        f"{NAMES[solver]} is faster than CVM",
        by_test(p, len(wins) / len(names)),
        f"Faster on {len(wins)} of {len(names)} sets (in the paper on {n_theirs} of these); "
        f"p = {p:.2g}. Speed-ups from {min(ratios.values()):.2g} to {ratios[best]:.3g} ({best}), "
        f"median {statistics.median(ratios.values()):.2g}.",
        _gaps_where(found, names, wins, solver),
    )


def _gaps_where(found: Summaries, names: Sequence[str], wins: Sequence[str], solver: str) -> str:
    """How far from the optimum it stopped where it was faster, and where not."""
    sentences = []
    losses = [name for name in names if name not in wins]
    for where, chosen in (("faster", wins), ("slower", losses)):
        if not chosen:
            continue
        own, other = (statistics.median(_column(found, chosen, s, _gap)) for s in (solver, "cvm"))
        sentences.append(
            f"Where {NAMES[solver]} is {where}, it stopped at a median gap of {own:.1e}, CVM at "
            f"{other:.1e}: {_compared(own, other)}."
        )
    return " ".join(sentences)


def _compared(own: float, other: float) -> str:
    if own > SAME_GAP * other:
        return "it stopped further from the optimum"
    return "it went nearer to the optimum" if other > SAME_GAP * own else "about equally far"


def less_accurate(found: Summaries, solver: str, than: str) -> Claim | None:
    """The accuracy of a solver against that of a better one."""
    names = sets_of(found, (*OF_PAPER, "auto"))
    if len(names) < FEWEST:
        return None
    losses = _differences(found, names, than, solver)
    p = wilcoxon(*(_column(found, names, s, _accuracy) for s in (solver, than)), "less")[1]
    share = sum(loss > 0 for loss in losses) / len(names)
    return Claim(
        f"{NAMES[than]} is more accurate than {NAMES[solver]}",
        by_test(p, share),
        f"More accurate on {sum(loss > 0 for loss in losses)} of {len(names)} sets, p = {p:.2g}; "
        f"{NAMES[solver]} loses {_points(statistics.median(losses))} points in the median, "
        f"{_points(max(losses))} at most.",
        _what_a_loss_is(found, names, losses, solver),
    )


def _what_a_loss_is(
    found: Summaries, names: Sequence[str], losses: Sequence[float], solver: str
) -> str:
    """Where it loses clearly: is it the problem, or that it stopped too early?"""
    clear = [name for name, loss in zip(names, losses, strict=True) if loss > CLEAR_LOSS]
    if not clear:
        return f"On no set more than {CLEAR_LOSS:g} points."
    gap = statistics.median(_column(found, clear, solver, _gap))
    gain = statistics.mean(_differences(found, clear, "auto", solver))
    text = (
        f"The sets with more than {CLEAR_LOSS:g} points ({', '.join(clear)}): {NAMES[solver]} "
        f"stopped at a median gap of {gap:.1e}; an almost exact solution of the same problems "
        f"(auto) is {gain:+.2f} points from it on average"
    )
    is_early = gain > CLEAR_LOSS and gap > 0.1
    return text + (": the loss is that of stopping early." if is_early else ".")


def minor_loss(found: Summaries) -> Claim | None:
    """At a loss that is usually below one point."""
    names = sets_of(found, OF_PAPER)
    if len(names) < FEWEST:
        return None
    losses = [loss for solver in OF_PAPER[1:] for loss in _differences(found, names, "cvm", solver)]
    share = sum(loss < 1 for loss in losses) / len(losses)
    return Claim(
        "The loss of accuracy is usually lower than 1 %",
        by_share(share, USUALLY),
        f"Below one point in {sum(loss < 1 for loss in losses)} of {len(losses)} cases (sets with "
        f"FW and with MFW); the largest is {max(losses):.2f} points.",
    )


def equally_fast(found: Summaries) -> Claim | None:
    names = sets_of(found, OF_PAPER)
    if len(names) < FEWEST:
        return None
    fw, mfw = (_column(found, names, s, _seconds) for s in ("fw", "mfw"))
    p = wilcoxon(fw, mfw, "two-sided")[1]
    wins = sum(a < b for a, b in zip(mfw, fw, strict=True))
    stopped = {s: sum(found[name, s].is_stopped for name in names) for s in ("fw", "mfw")}
    return Claim(
        "FW and MFW do not differ significantly in time",
        HOLDS if p >= LEVEL else NOT,
        f"MFW is faster on {wins} of {len(names)} sets, p = {p:.2g}.",
        f"FW was stopped by the limit on {stopped['fw']} sets, MFW on {stopped['mfw']}: their "
        "times would be longer.",
    )


# -------------------------------------------------------------------------- series of growing sets


def always_faster(found: Summaries, names: Sequence[str], solver: str, series: str) -> Claim | None:
    """A speed-up on every set of a series."""
    ratios = _ratios(found, names, solver)
    if not ratios:
        return None
    share = sum(ratio > 1 for ratio in ratios) / len(ratios)
    return Claim(
        f"{NAMES[solver]} is faster than CVM on every {series} set",
        by_share(share),
        f"On {sum(ratio > 1 for ratio in ratios)} of {len(ratios)}; speed-ups from "
        f"{min(ratios):.2g} to {max(ratios):.3g}.",
    )


def grows(found: Summaries, names: Sequence[str], solver: str, series: str) -> Claim | None:
    """The speed-up increases with the size of the set."""
    names = [name for name in names if speed_up(found, name, solver) is not None]
    if len(names) < FEWEST:
        return None
    sizes = [found[name, solver].n_train for name in names]
    ratios = _ratios(found, names, solver)
    rank, p = rank_correlation(sizes, ratios)
    gaps = _column(found, names, solver, _gap)
    return Claim(
        f"The speed-up of {NAMES[solver]} over CVM grows with the size of the {series} sets",
        HOLDS if p < RANK_LEVEL else PARTLY if rank > 0.5 else NOT,
        f"Rank correlation of rows and speed-up {rank:.2f} (p = {p:.2g}): "
        f"from {ratios[sizes.index(min(sizes))]:.2g} on the smallest to "
        f"{ratios[sizes.index(max(sizes))]:.3g} on the largest of {len(names)} sets.",
        f"From there to there its gap goes from {gaps[sizes.index(min(sizes))]:.1e} to "
        f"{gaps[sizes.index(max(sizes))]:.1e}.",
    )


def away_steps_pay(found: Summaries, names: Sequence[str]) -> Claim | None:
    """MFW against FW where most rows are support vectors."""
    names = [name for name in names if (name, "fw") in found and (name, "mfw") in found]
    if not names:
        return None
    ratios = [found[name, "fw"].seconds / found[name, "mfw"].seconds for name in names]
    shares = [found[name, "mfw"].n_support / found[name, "mfw"].n_train for name in names]
    gaps = [statistics.median(_column(found, names, solver, _gap)) for solver in ("fw", "mfw")]
    return Claim(
        "MFW is clearly faster than FW on the Adult sets, most rows of which are support vectors",
        by_share(sum(ratio > 1 for ratio in ratios) / len(ratios)),
        f"Faster on {sum(ratio > 1 for ratio in ratios)} of {len(ratios)}, by factors from "
        f"{min(ratios):.3g} to {max(ratios):.3g}; {min(shares):.0%} to {max(shares):.0%} of the "
        "rows are support vectors.",
        f"Median gaps: FW {gaps[0]:.1e}, MFW {gaps[1]:.1e}.",
    )


# --------------------------------------------------------------------------------------- figures


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Spearman's, and p that it is not positive; none where one of them does not change."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0, 1.0
    test = scipy.stats.spearmanr(x, y, alternative="greater")
    return float(test.statistic), float(test.pvalue)


def _ratios(found: Summaries, names: Iterable[str], solver: str) -> list[float]:
    return [r for name in names if (r := speed_up(found, name, solver)) is not None]


def _column(
    found: Summaries, names: Sequence[str], solver: str, value: Callable[[Summary], float]
) -> list[float]:
    return [value(found[name, solver]) for name in names]


def _differences(found: Summaries, names: Sequence[str], first: str, second: str) -> list[float]:
    """Accuracy of one solver minus that of another."""
    return [found[name, first].accuracy - found[name, second].accuracy for name in names]


def _points(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # no -0.00


def _seconds(each: Summary) -> float:
    return each.seconds


def _accuracy(each: Summary) -> float:
    return each.accuracy


def _gap(each: Summary) -> float:
    return each.gap
