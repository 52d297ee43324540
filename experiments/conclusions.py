"""Which claims of the paper hold here, which do not, and why; and what the default solver adds.

All of it is computed: `claims` has the rules, this file the list.
"""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from . import claims
from .cells import OF_PAPER, Results
from .claims import FEWEST, HOLDS, NOT, PARTLY, RANK_LEVEL, Claim, by_share
from .figures import NAMES
from .page import Part, Table
from .plan import C_VALUES, SETS_OF_C
from .sets import names_of_group
from .significance import seconds_of_paper
from .summary import Summaries, Summary, over_c, sets_of, summaries
from .table_8 import refusals

COMPARABLE = 2.0  # points of accuracy between two kernels
CERTIFIED = 1e-3


def part(results: Results) -> Part:
    found = summaries(results, "tables")
    judged = [claim for claim in (*_of_tables(found), *_of_others(results)) if claim]
    rows: list[dict[str, Any]] = [
        {"the paper says": c.says, "here it": c.verdict, "what was found": c.found, "why": c.why}
        for c in judged
    ]
    columns = dict.fromkeys(("the paper says", "here it", "what was found", "why"), "")
    return Part(
        "Conclusions",
        [
            _headline(judged),
            Table("claims", columns, rows, _rules()),
            *_times_then_and_now(found),
            *_rule_and_size(found),
            *_default(found),
        ],
    )


def _of_tables(found: Summaries) -> list[Claim | None]:
    web, adult, single = (names_of_group(group) for group in ("Web", "Adult", "single"))
    return [
        claims.faster(found, "fw"),
        claims.faster(found, "mfw"),
        claims.less_accurate(found, "fw", "cvm"),
        claims.less_accurate(found, "mfw", "cvm"),
        claims.minor_loss(found),
        claims.less_accurate(found, "fw", "mfw"),
        claims.equally_fast(found),
        claims.always_faster(found, web, "fw", "Web"),
        claims.always_faster(found, web, "mfw", "Web"),
        claims.grows(found, web, "fw", "Web"),
        claims.grows(found, web, "mfw", "Web"),
        claims.always_faster(found, adult, "mfw", "Adult"),
        claims.grows(found, adult, "fw", "Adult"),
        claims.away_steps_pay(found, adult),
        claims.grows(found, single, "fw", "single"),
    ]


def _of_others(results: Results) -> list[Claim | None]:
    return [_faster_as_c_grows(results), _faster_whatever_c(results), _other_kernels(results)]


# --------------------------------------------------------------------------------- C and kernels


def _faster_as_c_grows(results: Results) -> Claim | None:
    correlations, ratios = [], []
    for name in SETS_OF_C:
        found = over_c(results, name)
        for solver in OF_PAPER:
            times = [found[solver, C].seconds for C in C_VALUES if (solver, C) in found]
            if len(times) == len(C_VALUES):
                correlations.append(claims.rank_correlation(C_VALUES, times)[0])
                ratios.append(times[0] / times[-1])
    if not correlations:
        return None
    falling = sum(c < 0 for c in correlations)
    return Claim(
        "As C grows all the algorithms become faster",
        by_share(falling / len(correlations)),
        f"In {falling} of {len(correlations)} cases (sets and algorithms) time falls with C; from "
        f"C = {C_VALUES[0]:g} to {C_VALUES[-1]:g} by factors from {min(ratios):.2g} to "
        f"{max(ratios):.3g}.",
        _gaps_over_c(results),
    )


def _gaps_over_c(results: Results) -> str:
    ends = []
    for C in (C_VALUES[0], C_VALUES[-1]):
        gaps = [
            each.gap
            for name in SETS_OF_C
            for (solver, each_C), each in over_c(results, name).items()
            if solver in OF_PAPER and each_C == C
        ]
        ends.append(statistics.median(gaps))
    text = f"Their median gap goes from {ends[0]:.1e} to {ends[1]:.1e} meanwhile"
    return text + (": they stop earlier, too." if ends[1] > claims.SAME_GAP * ends[0] else ".")


def _faster_whatever_c(results: Results) -> Claim | None:
    wins = []
    for name in SETS_OF_C:
        found = over_c(results, name)
        wins += [
            found[solver, C].seconds < found["cvm", C].seconds
            for C in C_VALUES
            for solver in OF_PAPER[1:]
            if (solver, C) in found and ("cvm", C) in found
        ]
    if not wins:
        return None
    return Claim(
        "FW and MFW are faster than CVM most of the time, whatever C",
        by_share(sum(wins) / len(wins), claims.USUALLY),
        f"In {sum(wins)} of {len(wins)} cases (sets, values of C, FW and MFW).",
    )


def _other_kernels(results: Results) -> Claim | None:
    polynomial = summaries(results, "polynomial", kernel="poly")
    gaussian = summaries(results, "tables")
    losses = [
        gaussian[key].accuracy - each.accuracy
        for key, each in polynomial.items()
        if key[1] in OF_PAPER and key in gaussian
    ]
    if not losses:
        return None
    near = sum(loss < COMPARABLE for loss in losses)
    is_refused = bool(refusals(results))
    verdict = by_share(near / len(losses)) if is_refused else NOT
    return Claim(
        "FW and MFW are effective with kernels that CVM cannot use",
        verdict,
        f"With the polynomial kernel within {COMPARABLE:g} points of the Gaussian, or better, in "
        f"{near} of {len(losses)} cases; at worst {max(losses):.2f} points below. CVM "
        f"{'refuses' if is_refused else 'does not refuse'} the kernel.",
    )


# ------------------------------------------------------------------------------ beyond the claims


def _headline(judged: list[Claim]) -> str:
    if not judged:
        return "Too little was run yet for any conclusion."
    counts = Counter(claim.verdict for claim in judged)
    said = ", ".join(f"{counts[v]} {_plural(v, counts[v])}" for v in (HOLDS, PARTLY, NOT))
    return f"Of {len(judged)} claims of the paper {said} here."


def _plural(verdict: str, count: int) -> str:
    if count == 1:
        return verdict
    return verdict.replace("holds", "hold").replace("does", "do")


def _rules() -> str:
    return (
        f"A claim about significance holds if p < {claims.LEVEL:g} (one-tailed, as in the paper), "
        "and partly if it is so on most sets. One about all sets, or usual ones "
        f"({claims.USUALLY:.0%}), holds partly if it is so on more than half. One about growth "
        f"holds if the rank correlation is positive with p < {RANK_LEVEL:g}, and partly if it "
        "exceeds 0.5. Nothing is said about fewer than "
        f"{FEWEST} sets."
    )


def _times_then_and_now(found: Summaries) -> list[str]:
    """Which solver's time changed since the paper, and what each has to compute."""
    names = sets_of(found, OF_PAPER)
    if len(names) < FEWEST:
        return []
    theirs = seconds_of_paper()
    gains = {s: _mean_ratio([theirs[s][n] / found[n, s].seconds for n in names]) for s in OF_PAPER}
    text = (
        "Why the times compare otherwise than in the paper: its seconds divided by ours are, as "
        f"geometric means, {_listed(gains)}."
    )
    if gains["cvm"] > claims.SAME_GAP * max(gains["fw"], gains["mfw"]):
        text += (
            " So what changed most is the CVM: each of its small problems is solved here from the "
            "last solution, only as exactly as the next row that enters is worth, and in native "
            "code."
        )
    work: dict[str, dict[str, float]] = {}
    for what in ("iterations", "kernel_evaluations"):
        work[what] = {
            s: _mean_ratio([_work(found[n, s], what) / _work(found[n, "cvm"], what) for n in names])
            for s in OF_PAPER[1:]
        }
    return [
        f"{text} What does not depend on machine and code, in multiples of CVM: iterations "
        f"{_listed(work['iterations'])}; kernel values computed "
        f"{_listed(work['kernel_evaluations'])}. {_steps(found, names)}"
    ]


def _steps(found: Summaries, names: list[str]) -> str:
    """What a step takes."""
    micros = {
        s: statistics.median(1e6 * found[n, s].seconds / found[n, s].iterations for n in names)
        for s in OF_PAPER
    }
    return (
        f"A step takes, in the median of the sets, these microseconds: {_listed(micros)}. All "
        "steps are written in Python around native code for kernel values and, in CVM, for the "
        "small problems; so what Python takes weighs on many cheap steps more than on few dear "
        "ones."
    )


def _work(each: Summary, what: str) -> float:
    return float(getattr(each, what))


def _mean_ratio(ratios: list[float]) -> float:
    return statistics.geometric_mean(ratios)


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{NAMES[solver]} {value:.3g}" for solver, value in values.items())


def _rule_and_size(found: Summaries) -> list[str]:
    """Does the stopping rule get looser as sets grow?"""
    said = []
    for group in ("Web", "Adult"):
        names = [n for n in names_of_group(group) if n in sets_of(found, OF_PAPER)]
        if len(names) < FEWEST:
            continue
        ends = [min(names, key=_rows(found)), max(names, key=_rows(found))]
        parts = []
        for solver in OF_PAPER:
            gaps = [found[name, solver].gap for name in ends]
            sizes = [found[name, solver].n_train for name in names]
            each = [found[name, solver].gap for name in names]
            rank = claims.rank_correlation(sizes, each)[0]
            parts.append(f"{NAMES[solver]} {gaps[0]:.1e} to {gaps[1]:.1e} (rank {rank:+.2f})")
        said.append(f"On the {group} sets, from {ends[0]} to {ends[1]}: {', '.join(parts)}.")
    if not said:
        return []
    return [
        "Why the gap matters: the paper's rule is relative to the radius of the ball, which hardly "
        "depends on the set, while the objective falls about as one by the number of rows. The "
        "certified gaps at the stop, with their rank correlation with the number of rows (and "
        f"with whatever C was tuned to): {' '.join(said)}"
    ]


def _rows(found: Summaries) -> Any:
    return lambda name: found[name, "cvm"].n_train


def _default(found: Summaries) -> list[str]:
    """What the default solver adds."""
    names = sets_of(found, (*OF_PAPER, "auto"))
    if not names:
        return []
    of_auto = [found[name, "auto"] for name in names]
    certified = sum(each.gap <= CERTIFIED for each in of_auto)
    best = {name: min(found[name, s].seconds for s in OF_PAPER) for name in names}
    ratios = {name: best[name] / found[name, "auto"].seconds for name in names}
    wins = sum(ratio > 1 for ratio in ratios.values())
    to_cvm = [found[n, "cvm"].seconds / found[n, "auto"].seconds for n in names]
    gains = {n: found[n, "auto"].accuracy - found[n, "cvm"].accuracy for n in names}
    low, high = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
    lost = [name for name in names if ratios[name] <= 1]
    text = (
        f"What the default solver adds: on {certified} of {len(names)} sets its gap is certified "
        f"to be at most {CERTIFIED:g}. It is faster than CVM by a geometric mean of "
        f"{statistics.geometric_mean(to_cvm):.3g} ({min(to_cvm):.2g} to {max(to_cvm):.3g}), and "
        f"faster than the fastest of the paper's three on {wins} of {len(names)} sets. "
        f"Its accuracy differs from that of CVM by {gains[low]:+.2f} ({low}) to "
        f"{gains[high]:+.2f} points ({high}), by {statistics.mean(gains.values()):+.3f} on average."
    )
    if lost:
        gaps = [min(found[n, s].gap for s in OF_PAPER) for n in lost]
        text += (
            f" Where one of the three is faster ({', '.join(lost)}), the smallest gap of the "
            f"three is {statistics.median(gaps):.1e} in the median, that of the default solver "
            f"{statistics.median(found[n, 'auto'].gap for n in lost):.1e}."
        )
    return [text]
